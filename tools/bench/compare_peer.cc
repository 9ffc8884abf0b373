/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_peer.cc: measure librpm against another library over the same link, in turn, burst by
 * burst. Both servers are processes on this machine and lend memory of the same kind.
 */
#include "bench/compare.h"
#include "bench/peer/peer.h"

#include <algorithm>
#include <functional>

namespace bench
{

static constexpr uint64_t kPeerBytes = 16u << 20;
static constexpr uint64_t kPoolBytes = 64u << 20;
/* 4072: with its header a frame has 4096 bytes, one packet if the MTU allows it. */
static const uint64_t kSizes[] = { 64, 256, 4072, 4096 };
static const uint32_t kDepths[] = { 1, 32 };

#ifdef HAVE_LIBRPMA
static const Peer *const kLibrpma = &peer_librpma;
#else
static const Peer *const kLibrpma = nullptr;
#endif
#ifdef HAVE_VERBS
static const Peer *const kVerbs = &peer_verbs;
#else
static const Peer *const kVerbs = nullptr;
#endif
#ifdef HAVE_LIBFABRIC
static const Peer *const kLibfabric = &peer_libfabric;
#else
static const Peer *const kLibfabric = nullptr;
#endif

static const Peer &find_peer(const std::string &name)
{
    static const struct {
        const char *name;
        const Peer *peer;
        const char *packages;
    } all[] = {
        { "librpma", kLibrpma, "librpma-dev" },
        { "verbs", kVerbs, "libibverbs-dev and librdmacm-dev" },
        { "libfabric", kLibfabric, "libfabric-dev" },
    };

    for (const auto &entry : all) {
        if (name != entry.name)
            continue;
        if (entry.peer == nullptr)
            throw cli::Failure("--peer " + name + ": this program was built without it (" +
                               entry.packages + ")");
        return *entry.peer;
    }
    throw cli::Failure("--peer " + name +
                       ": no such peer; there are librpma, verbs, libfabric and self");
}

/* Small, so that the setup over a slow link is short, but room for many bursts of the largest
 * records. */
static uint64_t capacity(Shape shape)
{
    return std::max<uint64_t>(256u << 10, 1024 * shape.bytes);
}

struct Context {
    const CompareOptions &options;
    const Peer &peer;
    const PeerSetup &setup;
    std::string url; /* of librpm's server */
};

/* A contender that is measured if --only selects one of its rows. */
struct Candidate {
    std::string name;
    std::function<ContenderPtr()> make;
    bool wanted;
};

static std::vector<Candidate> our_candidates(const Context &context, Shape shape)
{
    std::string scheme = context.peer.scheme;
    std::vector<Candidate> all;

    all.push_back({ "append " + scheme,
                    [=] {
                        return make_ours(context.url, "bench-append", shape, capacity(shape),
                                         { context.options.method });
                    },
                    false });
    all.push_back({ "async " + scheme,
                    [=] {
                        return make_ours_async(context.url, "bench-async", shape, capacity(shape),
                                               { context.options.method });
                    },
                    false });
    return all;
}

static std::vector<Candidate> their_candidates(const Context &context, Shape shape)
{
    std::string name = context.peer.name;
    std::vector<Candidate> all;

    all.push_back({ name,
                    [=] { return context.peer.connect(context.setup, shape, FlushMode::kEach); },
                    false });
    if (shape.depth > 1 && context.peer.groups)
        all.push_back(
            { name + " group",
              [=] { return context.peer.connect(context.setup, shape, FlushMode::kGroup); },
              false });
    return all;
}

struct Pair {
    size_t ours;
    size_t theirs;
    Row row;
};

/* The pairs to measure. */
static std::vector<Pair> pair_up(const Context &context, Shape shape, std::vector<Candidate> &ours,
                                 std::vector<Candidate> &theirs)
{
    std::vector<Pair> pairs;

    for (size_t i = 0; i < ours.size(); i++)
        for (size_t k = 0; k < theirs.size(); k++) {
            Row row = { ours[i].name, shape.bytes, shape.depth, theirs[k].name, "time per record" };

            if (!wanted(context.options.only, row.what, row.against))
                continue;
            if (i == 0)
                row.target =
                    context.peer.target(shape, k == 0 ? FlushMode::kEach : FlushMode::kGroup);
            else if (k > 0)
                row.target = kAsyncTarget;
            ours[i].wanted = theirs[k].wanted = true;
            pairs.push_back({ i, k, row });
        }
    return pairs;
}

/* Add the candidates to @sides; returns the index of each. */
static std::vector<size_t> add_sides(const std::vector<Candidate> &candidates,
                                     std::vector<Side> &sides)
{
    std::vector<size_t> indexes;

    for (const Candidate &candidate : candidates) {
        indexes.push_back(sides.size());
        if (candidate.wanted)
            sides.push_back({ candidate.name, candidate.make(), 0, {} });
    }
    return indexes;
}

static void compare_shape(const Context &context, Shape shape, std::vector<Row> &rows)
{
    std::vector<Candidate> ours = our_candidates(context, shape);
    std::vector<Candidate> theirs = their_candidates(context, shape);
    std::vector<Pair> pairs = pair_up(context, shape, ours, theirs);
    std::vector<Side> sides;
    std::vector<size_t> our_sides = add_sides(ours, sides);
    std::vector<size_t> their_sides = add_sides(theirs, sides);

    run_rounds(sides, context.options, shape.depth);
    for (Pair &pair : pairs) {
        conclude(pair.row, sides[our_sides[pair.ours]].rounds,
                 sides[their_sides[pair.theirs]].rounds);
        rows.push_back(pair.row);
        print_row(pair.row);
    }
}

static void print_notes(const Context &context)
{
    printf("both servers on this machine, at %s, lending %s, declared to be in the ADR domain and "
           "not behind DDIO\n",
           context.setup.address.c_str(),
           context.options.memory.empty() ? context.options.dir.c_str()
                                          : context.options.memory.c_str());
    printf(
        "append at depth 32: batches of records with one flush each; async: single appends, which "
        "share flushes while they are outstanding\n");
    printf("ratio: time of librpm over time of the other, below 1 librpm is faster; median of %u "
           "rounds\n\n",
           context.options.rounds);
}

/* Check before a server is started that there is a row of that name. */
static void check_only(const CompareOptions &options, const Peer &peer)
{
    const PeerSetup nowhere = {};
    Context context = { options, peer, nowhere, "" };
    Shape deep = { kSizes[0], kDepths[1] }; /* has all candidates */
    std::vector<Candidate> ours = our_candidates(context, deep);
    std::vector<Candidate> theirs = their_candidates(context, deep);

    std::vector<std::string> names;

    if (!pair_up(context, deep, ours, theirs).empty())
        return;
    for (const Candidate &one : ours)
        for (const Candidate &other : theirs)
            names.push_back(one.name + " " + other.name);
    fail_only(options.only, names);
}

int compare_peer(const CompareOptions &options)
{
    const Peer &peer = find_peer(options.peer);
    bool rdma = std::string(peer.scheme) == "verbs";
    MemoryDir dir(options.dir);
    std::vector<int> cpus = allowed_cpus();
    ServerOptions server;
    PeerSetup setup;

    check_only(options, peer);
    setup.address = !options.address.empty() ? options.address
                    : rdma                   ? rdma_address()
                                             : "127.0.0.1";
    setup.port = std::to_string(options.port);
    setup.memory = options.memory.empty() ? dir / "peer" : options.memory;
    setup.bytes = kPeerBytes;
    server.pool = options.memory.empty() ? dir / "pool" : options.memory;
    server.pool_bytes = kPoolBytes;
    server.listen = std::string(peer.scheme) + "://" + setup.address + ":" +
                    std::to_string(options.port + 1) + "/bench";
    server.engine_cpu = cpus.empty() ? -1 : cpus.back();
    server.ddio = RPM_NO;
    pin(server.engine_cpu);
    PeerServer theirs(peer, setup);
    ChildServer ours(server);
    pin(cpus.empty() ? -1 : cpus.front());
    Context context = { options, peer, theirs.setup(), server.listen };
    print_notes(context);
    print_header();
    with_rows(options, server.listen, [&](std::vector<Row> &rows) {
        for (uint64_t bytes : kSizes)
            for (uint32_t depth : kDepths)
                compare_shape(context, { bytes, depth }, rows);
    });
    return cli::kDone;
}

} // namespace bench
