/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.h: facts as text and as JSON.
 */
#ifndef RPM_TOOLS_FACTS_H
#define RPM_TOOLS_FACTS_H

#include "tool.h"

#include <nlohmann/json.hpp>

namespace facts
{

using Json = nlohmann::ordered_json;

inline std::string text(const rpm_facts &facts)
{
    std::string out(static_cast<size_t>(cli::check("facts", rpm_facts_text(&facts, nullptr, 0))),
                    '\0');

    /* std::string keeps room for the final NUL. */
    cli::check("facts", rpm_facts_text(&facts, &out[0], out.size() + 1));
    return out;
}

/* true, false, or null if it is unknown. */
inline Json answer(uint32_t value)
{
    return value == RPM_UNKNOWN ? Json() : Json(value == RPM_YES);
}

inline Json node(int32_t value)
{
    return value < 0 ? Json() : Json(value);
}

inline void add_memory(Json &out, const rpm_facts &facts)
{
    out["medium"] = rpm_medium_name(static_cast<rpm_medium>(facts.medium));
    out["domain"] = rpm_domain_name(static_cast<rpm_domain>(facts.domain));
    out["domain_declared"] = facts.domain_declared != 0;
}

/* Adds the facts that a program reports with its results. */
inline void add_main(Json &out, const rpm_facts &facts)
{
    add_memory(out, facts);
    out["modelled"] = facts.modelled != 0;
}

/* Is an agent (rpm-agent --listen) worth running for clients on other machines, and why? */
struct AgentAdvice {
    bool worth;
    std::string text;
};

inline AgentAdvice agent_advice(const rpm_facts &facts)
{
    const char *why = nullptr;

    if (!rpm_legal(&facts, RPM_METHOD_ORDER, RPM_DURABLE, &why))
        return { false, std::string("of no use: ") + why };
    for (rpm_method method : { RPM_METHOD_FLUSH, RPM_METHOD_READ })
        if (rpm_legal(&facts, method, RPM_DURABLE, &why))
            return { false, std::string("not worth running: clients make records durable without "
                                        "the server CPU, by method ") +
                                rpm_method_name(method) + ": " + why };
    return { true, std::string("worth running for several writers: without it each flush is a "
                               "message to the server CPU, with it one message has the records of "
                               "many; method read would not do: ") +
                       why };
}

/* All facts. */
inline Json json(const rpm_facts &facts)
{
    Json out;

    add_memory(out, facts);
    out["ddio"] = answer(facts.ddio);
    out["native_flush"] = answer(facts.native_flush);
    out["atomic_write"] = answer(facts.atomic_write);
    out["memory_window"] = answer(facts.memory_window);
    out["granularity_bytes"] =
        facts.granularity_bytes == 0 ? Json() : Json(facts.granularity_bytes);
    out["line_bytes"] = facts.line_bytes == 0 ? Json() : Json(facts.line_bytes);
    out["methods"] = Json::array();
    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
        if ((facts.methods & (1u << m)) != 0)
            out["methods"].push_back(rpm_method_name(static_cast<rpm_method>(m)));
    out["memory_node"] = node(facts.memory_node);
    out["port_node"] = node(facts.port_node);
    out["pool_starts"] = facts.pool_starts == 0 ? Json() : Json(facts.pool_starts);
    out["modelled"] = facts.modelled != 0;
    return out;
}

} // namespace facts
#endif
