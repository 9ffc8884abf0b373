// SPDX-License-Identifier: BSD-3-Clause
#include "support/cuts.h"
#include "support/liar.h"

extern "C" {
#include "conn/conn.h"
#include "transport/sim/sim.h"
#include "transport/wrap/carry.h"
}
#include <cstring>

namespace cuts
{

// A link with an agent that lies, and is to carry records as the agent @carry; "": it is not.
int Run::open_liar(const rpm_conn_opts *opts, const char *carry, rpmi_link **outer)
{
    rpmi_agent_address address = {};
    rpmi_link_opts of_link;
    rpmi_link *link = nullptr;
    int err = rpmi_conn_link_opts(opts, &of_link);

    if (err == 0)
        err = rpmi_sim_link_open(sim_, 0, &of_link, &link);
    if (err != 0)
        return err;
    address.context = this;
    if (carry[0] != '\0' && rpmi_carry_set_name(&address, carry) != 0)
        violate("no name of an agent: %s", carry);
    strcpy(address.url, carry);
    address.dial = [](void *context, const char *name, const rpmi_link_opts *wanted,
                      rpmi_link **made) {
        Run *run = static_cast<Run *>(context);
        int failed = rpmi_sim_link_open(run->sim_, 0, wanted, made);

        if (failed == 0 && name[0] != '\0' &&
            (failed = rpmi_carry_enrol(*made, name, wanted->timeout_us)) != 0)
            (*made)->ops->close(*made);
        if (failed == 0)
            *made = lying(*made, static_cast<Lie>(run->setup.lie), run->hoard_.get());
        return failed;
    };
    err = rpmi_order_open(link, &address, of_link.timeout_us, outer);
    if (err != 0)
        link->ops->close(link);
    return err;
}

// As rpm_sim_connect_agent(), with an agent that lies.
int Run::connect_liar(const rpm_conn_opts *opts, rpm_conn **conn)
{
    bool carries = setup.method == RPM_METHOD_CARRY;
    bool stranger = setup.lie == static_cast<int>(Lie::stranger);
    rpm_conn_opts ours = *opts;
    rpmi_link *link = nullptr;
    int err;

    if (stranger) {
        err = open_liar(opts, "stranger", &link);
        if (err == 0) {
            link->ops->close(link);
            violate("an agent that the server does not declare may carry records");
        }
        if (err != RPM_E_DENIED)
            return err;
        ours.method = RPM_METHOD_ORDER;
    }
    err = open_liar(&ours, carries && !stranger ? RPMI_SIM_AGENT : "", &link);
    return err != 0 ? err : rpmi_conn_wrap(link, &ours, conn);
}

} // namespace cuts
