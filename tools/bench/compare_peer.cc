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
    throw cli::Failure("--peer " + name + ": there is no such peer");
}

/* Small, so that the setup over a slow link is short, but room for many bursts of the largest
 * records. */
static uint64_t capacity(Shape shape)
{
    return std::max<uint64_t>(256u << 10, 1024 * shape.bytes);
}

struct Match {
    const CompareOptions &options;
    const Peer &peer;
    const Place &place;
    std::string url; /* of librpm's server */
};

/* A contender that may take part on one side. */
struct Entrant {
    std::string name;
    std::function<ContenderPtr()> enter;
    bool wanted;
};

static std::vector<Entrant> our_entrants(const Match &match, Shape shape)
{
    std::string scheme = match.peer.scheme;
    std::vector<Entrant> all;

    all.push_back({ "append " + scheme,
                    [=] {
                        return make_ours(match.url, "bench-append", shape, capacity(shape),
                                         { match.options.method });
                    },
                    false });
    all.push_back({ "async " + scheme,
                    [=] {
                        return make_ours_async(match.url, "bench-async", shape, capacity(shape),
                                               { match.options.method });
                    },
                    false });
    return all;
}

static std::vector<Entrant> their_entrants(const Match &match, Shape shape)
{
    std::string name = match.peer.name;
    std::vector<Entrant> all;

    all.push_back(
        { name, [=] { return match.peer.connect(match.place, shape, Way::kEach); }, false });
    if (shape.depth > 1 && match.peer.groups)
        all.push_back({ name + " group",
                        [=] { return match.peer.connect(match.place, shape, Way::kGroup); },
                        false });
    return all;
}

struct Pair {
    size_t ours;
    size_t theirs;
    Row row;
};

/* The pairs to measure. */
static std::vector<Pair> pair_up(const Match &match, Shape shape, std::vector<Entrant> &ours,
                                 std::vector<Entrant> &theirs)
{
    std::vector<Pair> pairs;

    for (size_t i = 0; i < ours.size(); i++)
        for (size_t k = 0; k < theirs.size(); k++) {
            Row row = { ours[i].name, shape.bytes, shape.depth, theirs[k].name, "time per record" };

            if (!wanted(match.options.only, row.what, row.against))
                continue;
            if (i == 0)
                row.target = match.peer.target(shape, k == 0 ? Way::kEach : Way::kGroup);
            else if (k > 0)
                row.target = kAsyncTarget;
            ours[i].wanted = theirs[k].wanted = true;
            pairs.push_back({ i, k, row });
        }
    return pairs;
}

/* Add the entrants to @sides; returns the index of each. */
static std::vector<size_t> enter(const std::vector<Entrant> &entrants, std::vector<Side> &sides)
{
    std::vector<size_t> places;

    for (const Entrant &entrant : entrants) {
        places.push_back(sides.size());
        if (entrant.wanted)
            sides.push_back({ entrant.name, entrant.enter(), 0, {} });
    }
    return places;
}

static void compare_shape(const Match &match, Shape shape, std::vector<Row> &rows)
{
    std::vector<Entrant> ours = our_entrants(match, shape);
    std::vector<Entrant> theirs = their_entrants(match, shape);
    std::vector<Pair> pairs = pair_up(match, shape, ours, theirs);
    std::vector<Side> sides;
    std::vector<size_t> our_places = enter(ours, sides);
    std::vector<size_t> their_places = enter(theirs, sides);

    play(sides, match.options, shape.depth);
    for (Pair &pair : pairs) {
        conclude(pair.row, sides[our_places[pair.ours]].rounds,
                 sides[their_places[pair.theirs]].rounds);
        rows.push_back(pair.row);
        print_row(pair.row);
    }
}

static void print_notes(const Match &match)
{
    printf("both servers on this machine, at %s, lending %s, declared to be in the ADR domain and "
           "not behind DDIO\n",
           match.place.address.c_str(),
           match.options.memory.empty() ? match.options.dir.c_str() : match.options.memory.c_str());
    printf("append at depth 32: records that are given to share one flush; async: records that "
           "share flushes as they come\n");
    printf("ratio: time of ours over time of the other, below 1 is faster; median of %u rounds\n\n",
           match.options.rounds);
}

/* Check before a server is started that there is a row of that name. */
static void check_only(const CompareOptions &options, const Peer &peer)
{
    const Place nowhere = {};
    Match match = { options, peer, nowhere, "" };
    Shape deep = { kSizes[0], kDepths[1] }; /* has all entrants */
    std::vector<Entrant> ours = our_entrants(match, deep);
    std::vector<Entrant> theirs = their_entrants(match, deep);

    std::vector<std::string> names;

    if (!pair_up(match, deep, ours, theirs).empty())
        return;
    for (const Entrant &one : ours)
        for (const Entrant &other : theirs)
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
    Place place;

    check_only(options, peer);
    place.address = !options.address.empty() ? options.address
                    : rdma                   ? rdma_address()
                                             : "127.0.0.1";
    place.port = std::to_string(options.port);
    place.memory = options.memory.empty() ? dir / "peer" : options.memory;
    place.bytes = kPeerBytes;
    server.pool = options.memory.empty() ? dir / "pool" : options.memory;
    server.pool_bytes = kPoolBytes;
    server.listen = std::string(peer.scheme) + "://" + place.address + ":" +
                    std::to_string(options.port + 1) + "/bench";
    server.engine_cpu = cpus.empty() ? -1 : cpus.back();
    server.ddio = RPM_NO;
    pin(server.engine_cpu);
    PeerServer theirs(peer, place);
    ChildServer ours(server);
    pin(cpus.empty() ? -1 : cpus.front());
    Match match = { options, peer, theirs.place(), server.listen };
    print_notes(match);
    print_header();
    with_rows(options, where_of(options, server.listen), [&](std::vector<Row> &rows) {
        for (uint64_t bytes : kSizes)
            for (uint32_t depth : kDepths)
                compare_shape(match, { bytes, depth }, rows);
    });
    return cli::kDone;
}

} // namespace bench
