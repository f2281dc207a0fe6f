/* The ready set against an array of booleans. */
#include "core/ready_set.h"
#include "support/prop.h"
#include "support/test.h"

enum { CAPACITY = 1500, STEPS = 400 };

static bool like_booleans(struct prop *p)
{
    struct dsql_ready_set set;
    bool model[CAPACITY] = {false};
    uint32_t capacity = 1 + (uint32_t)prop_below(p, CAPACITY), count = 0, hint = 0;
    if (dsql_ready_set_init(&set, capacity) != DSQL_OK)
        return prop_that(p, false, "no memory");
    bool ok = true;
    for (uint64_t n = prop_below(p, STEPS); ok && n > 0; n--) {
        uint32_t slot = (uint32_t)prop_below(p, capacity);
        switch (prop_below(p, 4)) {
        case 0:
        case 1:
            if (!model[slot]) {
                dsql_ready_set_put(&set, slot);
                model[slot] = true;
                count++;
            }
            break;
        case 2:
            hint = (uint32_t)prop_any_u64(p);
            slot = dsql_ready_set_take(&set, &hint);
            ok = prop_that(p, (slot == DSQL_READY_NONE) == (count == 0), "%u of %u", slot, count) &&
                 (slot == DSQL_READY_NONE || prop_that(p, model[slot], "%u was not there", slot));
            if (ok && slot != DSQL_READY_NONE) {
                model[slot] = false;
                count--;
            }
            break;
        default:
            ok = prop_that(p, dsql_ready_set_claim(&set, slot) == model[slot], "claim %u", slot);
            count -= model[slot];
            model[slot] = false;
        }
        ok = ok && prop_that(p, dsql_ready_set_count(&set) == count, "count") &&
             prop_that(p, dsql_ready_set_has(&set, slot % capacity) == model[slot % capacity],
                       "has");
    }
    dsql_ready_set_fini(&set);
    return ok;
}

TEST(model)
{
    prop_run("as an array of booleans", like_booleans, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
