#include "local/module/module.h"

#include "local/module/explain.h"
#include "local/module/sizes.h"

#include <commands/explain.h>
#include <common/hashfn.h>
#include <executor/instrument.h>
#include <portability/instr_time.h>
#include <tcop/tcopprot.h>

/* In DPU, as in the examples of AWS's documentation: for a row that is read or written, for a
 * millisecond of computing; and what a transaction that reads or writes costs at least. */
static const double read_row = 0.0003, write_row = 0.00625, compute_ms = 0.0035;
static const double read_least = 0.00375, write_least = 0.05;

/* 64 bits as 13 letters and digits. */
static void identify(const char *statement, char *name)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    enum { LEN = 13, BITS = 5 };
    uint64 hash = hash_bytes_extended((const unsigned char *)statement, (int)strlen(statement), 0);
    for (int i = 0; i < LEN; i++, hash >>= BITS)
        name[i] = digits[hash & (sizeof(digits) - 2)];
    name[LEN] = '\0';
}

/* Rows that scans gave, of all their loops, as the plan says. */
static double rows_read(const char *plan)
{
    double rows = 0;
    for (const char *line = plan; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t len = strcspn(line, "\n");
        const char *scan = strstr(line, " Scan "), *actual = strstr(line, "(actual ");
        const char *count = actual ? strstr(actual, "rows=") : NULL;
        const char *loops = count ? strstr(count, "loops=") : NULL;
        if (scan && loops && loops < line + len)
            rows += strtod(count + strlen("rows="), NULL) * strtod(loops + strlen("loops="), NULL);
    }
    return rows;
}

/* Where PostgreSQL's times begin: the last line that begins so, for a literal may look like it. The
 * end if there are none (SUMMARY off). */
static char *times_of(char *plan)
{
    static const char begin[] = "\nPlanning Time: ";
    char *times = NULL;
    for (char *at = strstr(plan, begin); at; at = strstr(at + 1, begin))
        times = at + 1;
    return times ? times : plan + strlen(plan);
}

static double milliseconds(const char *times)
{
    const char *time = strstr(times, "Execution Time: ");
    return time ? strtod(time + strlen("Execution Time: "), NULL) : 0;
}

static void say_units(StringInfo out, const char *name, double units, double least)
{
    appendStringInfo(out, "  %s: %.5f DPU", name, units);
    if (units > 0 && units < least)
        appendStringInfo(out, " (Transaction minimum: %.5f)", least);
    appendStringInfoChar(out, '\n');
}

/* The identifier stands before PostgreSQL's times, the estimate is last. */
static void add_estimate(StringInfo out, int begin, const char *statement, int64 written)
{
    char name[16];
    char *plan = pstrdup(out->data + begin);
    const char *times = times_of(plan);
    double compute = milliseconds(times) * compute_ms, read = rows_read(plan) * read_row;
    double write = (double)written * write_row;
    identify(statement, name);
    out->len = begin + (int)(times - plan);
    appendStringInfo(out, "Query Identifier: %s\n%s", name, times);
    appendStringInfoString(out, "Statement DPU Estimate:\n");
    say_units(out, "Compute", compute, 0);
    say_units(out, "Read", read, read_least);
    say_units(out, "Write", write, write_least);
    say_units(out, "Total", compute + read + write, 0);
    pfree(plan);
}

static void on_explain(Query *query, int options, IntoClause *into, ExplainState *es,
                       const char *text, ParamListInfo params, QueryEnvironment *env)
{
    instr_time began, took;
    int64 rows = dsql_sizes_rows();
    int begin = es->str->len;
    INSTR_TIME_SET_CURRENT(began);
    PlannedStmt *plan = pg_plan_query(query, text, options, params);
    INSTR_TIME_SET_CURRENT(took);
    INSTR_TIME_SUBTRACT(took, began);
    ExplainOnePlan(plan, into, es, text, params, env, &took, NULL);
    if (es->analyze && es->verbose && es->format == EXPLAIN_FORMAT_TEXT)
        add_estimate(es->str, begin, text, dsql_sizes_rows() - rows);
}

void dsql_explain_init(void)
{
    ExplainOneQuery_hook = on_explain;
}
