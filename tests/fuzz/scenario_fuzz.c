/* Any bytes: a scenario whose parts are within their ranges, or a message that names the file. */
#include "sim/scenario.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_sim_scenario s;
    struct dsql_err err = {0};
    if (dsql_sim_scenario_read((struct dsql_span){(const char *)data, size}, "f", &s, &err)) {
        assert(strncmp(err.message, "f:", 2) == 0);
        return 0;
    }
    assert(s.services.count >= 1 && s.cluster.rate >= 1 &&
           s.budget.headroom < s.budget.connections);
    dsql_sim_scenario_fini(&s);
    return 0;
}
