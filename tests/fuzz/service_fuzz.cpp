// SPDX-License-Identifier: BSD-3-Clause
// service_fuzz.cpp: the pool service with any clients: the input is a sequence of calls, accesses,
// arrivals and departures, over memory in this process. The pool must open again with the same
// objects, and no access may reach bytes outside the object of its key.
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "pool/service.h"
#include "wire/super.h"
}
#include "fuzz.h"

#include <vector>

static const uint64_t POOL_BYTES = 256 * 1024;
static const uint64_t DRAM_BYTES = 4096;
static const unsigned CLIENTS = 3;
static const unsigned STEPS_MAX = 64;

// The simplest memory: every byte is durable at once.
struct Memory {
    rpmi_mem mem;
    std::vector<unsigned char> bytes;
};

static unsigned char *place(rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    Memory *memory = reinterpret_cast<Memory *>(mem);

    FUZZ_CHECK(rpmi_in_bounds(offset, len, memory->bytes.size()));
    return memory->bytes.data() + offset;
}

static void load(rpmi_mem *mem, uint64_t offset, void *to, uint64_t len)
{
    memcpy(to, place(mem, offset, len), len);
}

static void store(rpmi_mem *mem, uint64_t offset, const void *from, uint64_t len)
{
    memcpy(place(mem, offset, len), from, len);
}

static int persist(rpmi_mem *mem, uint64_t offset, uint64_t len)
{
    place(mem, offset, len);
    return 0;
}

static uint64_t cas(rpmi_mem *mem, uint64_t offset, uint64_t expect, uint64_t desired)
{
    unsigned char *at = place(mem, offset, 8);
    uint64_t found = rpmi_load64(at);

    if (found == expect)
        rpmi_store64(at, desired);
    return found;
}

static const rpmi_mem_ops OPS = { load, store, persist, cas };

static uint64_t entropy(void *context)
{
    return ++*static_cast<uint64_t *>(context);
}

struct Input : FuzzBytes {
    // Mostly small numbers, sometimes any.
    uint64_t number()
    {
        uint8_t kind = byte();
        uint64_t value = 0;

        if (kind < 128)
            return static_cast<uint64_t>(kind) * 4096;
        if (kind < 192)
            return static_cast<uint64_t>(kind - 128) * 64;
        if (kind < 224)
            return kind - 192u;
        for (int i = 0; i < 8; i++)
            value = value << 8 | byte();
        return value;
    }
};

static void fill(Input &input, rpmi_call *call)
{
    unsigned char bytes[RPMI_CALL_BYTES] = {};
    rpmi_call judged;

    call->kind = 1 + input.byte() % (RPMI_CALL_KINDS - 1);
    uint8_t flags = input.byte();
    call->flags = flags % 32;
    call->key = input.byte() % 8;
    call->object = input.byte() % 5;
    call->bytes = input.number();
    call->lsn = input.number();
    call->name[0] = static_cast<char>(input.byte() % 8 + 'a');
    if (call->name[0] == 'g')
        call->name[0] = static_cast<char>(input.byte());
    if (flags >= 128) {
        call->epoch = static_cast<uint32_t>(input.number());
        call->token = input.number();
        call->id = input.number();
        call->set.copies = input.byte() % 20;
        call->set.acks = input.byte() % 4;
        call->set.member = input.byte() % 4;
        call->set.members = input.byte();
    }
    // Encodes and decodes the call, as a socket does.
    rpmi_call_put(bytes, call);
    FUZZ_CHECK(rpmi_call_get(bytes, &judged) == 0);
}

static void serve(rpmi_service *service, Input &input, uint32_t client)
{
    unsigned char bytes[RPMI_REPLY_BYTES] = {};
    rpmi_call call = {};
    rpmi_reply reply = {};
    rpmi_reply judged;

    fill(input, &call);
    rpmi_service_call(service, client, &call, &reply);
    // The decoder must accept the reply.
    rpmi_reply_put(bytes, &reply);
    FUZZ_CHECK(rpmi_reply_get(bytes, &judged) == 0);
    FUZZ_CHECK(reply.status != 0 || rpmi_in_bounds(reply.offset, 0, POOL_BYTES));
    FUZZ_CHECK(rpmi_service_free_bytes(service) <= POOL_BYTES);
}

static void access(rpmi_service *service, Input &input, uint32_t client)
{
    uint32_t key = input.byte() % 8;
    uint64_t offset = input.number();
    uint64_t len = input.number();
    uint32_t rights = input.byte() % 8;
    rpmi_span span = {};

    if (rpmi_service_access(service, client, key, offset, len, rights, &span) == 0)
        FUZZ_CHECK(rpmi_in_bounds(span.offset, len,
                                  span.area == RPMI_AREA_POOL ? POOL_BYTES : DRAM_BYTES));
}

static void step(rpmi_service *service, Input &input, uint32_t *clients)
{
    uint8_t what = input.byte();
    uint32_t *client = &clients[what % CLIENTS];

    if (*client == 0) {
        FUZZ_CHECK(rpmi_service_attach(service, client) == 0);
        FUZZ_CHECK(*client != 0);
    }
    switch (what / CLIENTS % 8) {
    case 0:
        rpmi_service_detach(service, *client);
        *client = 0;
        break;
    case 1:
    case 2:
        access(service, input, *client);
        break;
    default:
        serve(service, input, *client);
    }
}

// Every object that the server lists.
static std::vector<rpmi_reply> listed(rpmi_service *service)
{
    std::vector<rpmi_reply> found;
    uint32_t client = 0;
    rpmi_call call = {};

    FUZZ_CHECK(rpmi_service_attach(service, &client) == 0);
    call.kind = RPMI_CALL_NEXT;
    for (uint32_t seen = 0;; seen++) {
        rpmi_reply reply = {};

        FUZZ_CHECK(seen <= rpmi_super_entries(POOL_BYTES) + RPMI_DRAM_ENTRIES);
        rpmi_service_call(service, client, &call, &reply);
        if (reply.status != 0)
            break;
        memcpy(call.name, reply.name, sizeof(call.name));
        if (reply.object == RPM_KIND_LOG || reply.object == RPM_KIND_REGION)
            found.push_back(reply);
    }
    rpmi_service_detach(service, client);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Memory pool = { { &OPS, POOL_BYTES }, {} };
    static Memory dram = { { &OPS, DRAM_BYTES }, {} };
    uint64_t ids = 0;
    uint32_t clients[CLIENTS] = {};
    Input input = { data, size };
    rpmi_service *service = nullptr;
    rpmi_service_opts opts = {};

    pool.bytes.assign(POOL_BYTES, 0);
    dram.bytes.assign(DRAM_BYTES, 0);
    opts.pool = &pool.mem;
    opts.dram = &dram.mem;
    opts.clients_max = CLIENTS + 1;
    opts.agents = "a b";
    opts.server_epoch = 1;
    opts.entropy = entropy;
    opts.context = &ids;
    FUZZ_CHECK(rpmi_pool_format(&pool.mem, 7) == 0);
    FUZZ_CHECK(rpmi_service_open(&opts, &service) == 0);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(service, input, clients);
    auto before = listed(service);
    rpmi_service_close(&service);

    // A service that opens the pool again must list the same objects.
    opts.server_epoch = 2;
    FUZZ_CHECK(rpmi_service_open(&opts, &service) == 0);
    auto after = listed(service);
    FUZZ_CHECK(before.size() == after.size());
    for (size_t i = 0; i < before.size(); i++)
        FUZZ_CHECK(strcmp(before[i].name, after[i].name) == 0 &&
                   before[i].bytes == after[i].bytes && after[i].writer == 0);
    rpmi_service_close(&service);
    return 0;
}
