// SPDX-License-Identifier: BSD-3-Clause
// server.h: a pool service and clients that call it by control messages.
#ifndef TESTS_UNIT_POOL_SERVER_H
#define TESTS_UNIT_POOL_SERVER_H

#include "support/loop.h"

extern "C" {
#include "pool/state.h"
#include "wire/guard.h"
}

struct PoolServer : loop::Server {
    using loop::Server::Server;

    uint32_t client()
    {
        uint32_t id = 0;

        REQUIRE(rpmi_service_attach(service, &id) == 0);
        REQUIRE(id != 0);
        return id;
    }

    rpmi_reply call(uint32_t client, const rpmi_call &call)
    {
        rpmi_reply reply;

        rpmi_service_call(service, client, &call, &reply);
        CHECK((reply.status <= 0));
        if (reply.status != 0 && call.kind != RPMI_CALL_NEXT)
            CHECK(reply.text[0] != '\0');
        return reply;
    }

    rpmi_reply open(uint32_t client, const std::string &name, uint32_t kind, uint64_t bytes = 0,
                    uint32_t flags = 0)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_OPEN;
        request.object = kind;
        request.bytes = bytes;
        request.flags = flags | (bytes != 0 ? RPMI_CALL_CREATE : 0);
        REQUIRE(name.size() < sizeof(request.name));
        memcpy(request.name, name.c_str(), name.size() + 1);
        return call(client, request);
    }

    rpmi_reply with_key(uint32_t client, uint32_t kind, uint32_t key, uint64_t lsn = 0,
                        uint32_t flags = 0)
    {
        rpmi_call request = {};

        request.kind = kind;
        request.key = key;
        request.lsn = lsn;
        request.flags = flags;
        return call(client, request);
    }

    rpmi_reply remove(uint32_t client, const std::string &name)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_REMOVE;
        memcpy(request.name, name.c_str(), name.size() + 1);
        return call(client, request);
    }

    // The object whose name follows @name.
    rpmi_reply next(uint32_t client, const std::string &name)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_NEXT;
        memcpy(request.name, name.c_str(), name.size() + 1);
        return call(client, request);
    }

    std::vector<std::string> list(uint32_t client)
    {
        std::vector<std::string> names;

        for (uint32_t i = 0; i < service->objects_n + 1; i++) {
            rpmi_reply reply = next(client, names.empty() ? "" : names.back());

            if (reply.status != 0) {
                CHECK(reply.status == RPM_E_RANGE);
                break;
            }
            names.push_back(reply.name);
        }
        return names;
    }

    int access(uint32_t client, uint32_t key, uint64_t offset, uint64_t len, uint32_t rights,
               rpmi_span *span = nullptr)
    {
        rpmi_span unused = {};

        return rpmi_service_access(service, client, key, offset, len, rights,
                                   span != nullptr ? span : &unused);
    }

    // Restarts the server on the durable bytes.
    int reborn()
    {
        rpmi_service_close(&service);
        pool.bytes = pool.kept;
        boot++;
        return start();
    }

    rpmi_head head(uint64_t header)
    {
        rpmi_head head = {};

        REQUIRE(rpmi_head_pick(&pool.bytes[header], &head, nullptr) == 0);
        return head;
    }
};

#endif
