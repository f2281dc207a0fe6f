/* Each process for itself. */
#include <stdlib.h>

#include "core/solo.h"
#include "sim/post.h"

struct owner {
    struct dsql_sim_sender sender;
    struct dsql_solo solo;
};

struct dsql_sim_sender *dsql_sim_budget_local(struct dsql_sim_process *process)
{
    const struct dsql_sim_budget *budget = &process->world->scenario->budget;
    struct owner *owner = calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    dsql_solo_init(&owner->solo, budget->rate, budget->burst, dsql_sim_process_now(process));
    dsql_sim_sender_init(&owner->sender, process, &owner->solo.allowance, NULL);
    return &owner->sender;
}
