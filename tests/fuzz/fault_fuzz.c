/* A list of faults: what is taken is within its bounds, and is shown in a form that is taken. */
#include "base/time.h"
#include "local/fault/fault.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_faults faults, again;
    struct dsql_fault_order order;
    struct dsql_err err;
    dsql_faults_init(&faults);
    struct dsql_span list = {(const char *)data, size};
    if (dsql_faults_set(&faults, list, &order, &err))
        return 0;
    assert(order.drop >= 0 && order.drop <= 1 && order.stall_ns >= 0 && order.stall_ns <= DSQL_H);
    char memory[4096];
    struct dsql_strbuf shown;
    dsql_strbuf_init(&shown, memory, sizeof(memory));
    dsql_faults_list(&faults, &shown);
    assert(!shown.cut);
    dsql_faults_init(&again);
    struct dsql_span rest = dsql_strbuf_span(&shown), line, word, struck;
    while (rest.len > 0) {
        dsql_span_cut(rest, '\n', &line, &rest);
        dsql_span_cut(line, ' ', &word, &struck);
        assert(!dsql_faults_set(&again, word, &order, &err));
    }
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++) {
        assert(faults.of[i].chance >= 0 && faults.of[i].chance <= 1);
        assert(again.of[i].chance == faults.of[i].chance && again.of[i].ns == faults.of[i].ns &&
               again.of[i].times == faults.of[i].times);
    }
    return 0;
}
