#include "core/classify.h"

#include <string.h>
#include <strings.h>

static bool has(const char *text, const char *part)
{
    return text && strcasestr(text, part) != NULL;
}

static bool in_class(const char *sqlstate, const char *two)
{
    return strncmp(sqlstate, two, 2) == 0;
}

static bool is(const char *sqlstate, const char *code)
{
    return strcmp(sqlstate, code) == 0;
}

/* Both conflicts are 40001; no recording has the markers as SQLSTATEs, but programs accept them. */
static bool is_conflict(const char *sqlstate)
{
    return is(sqlstate, "40001") || is(sqlstate, "OC000") || is(sqlstate, "OC001");
}

static enum dsql_rc conflict(const char *sqlstate, const char *message)
{
    if (is(sqlstate, "OC001") || has(message, "OC001"))
        return DSQL_SCHEMA_CHANGED;
    if (is(sqlstate, "OC000") || has(message, "OC000"))
        return DSQL_CONFLICT;
    return has(message, "schema has been updated") ? DSQL_SCHEMA_CHANGED : DSQL_CONFLICT;
}

/* Class 08 is also how the service refuses a token: taken for a network failure it would be tried
 * for ever. */
static bool is_refusal(const char *message)
{
    return has(message, "access denied") || has(message, "sni was not received") ||
           has(message, "SSL is mandatory") || has(message, "authentication failed") ||
           has(message, "invalid password packet size");
}

/* What a session that ends, or a server that is not there, answers. */
static bool is_gone(const char *sqlstate)
{
    return in_class(sqlstate, "08") || strncmp(sqlstate, "57P", 3) == 0;
}

static enum dsql_rc at_connect(const char *sqlstate, const char *message)
{
    if (is_refusal(message) || in_class(sqlstate, "28"))
        return DSQL_DENIED;
    if (has(message, "waking up cluster"))
        return DSQL_UNAVAILABLE;
    if (has(message, "too many open connections"))
        return DSQL_LIMIT;
    if (has(message, "rate exceeded"))
        return DSQL_THROTTLED;
    return DSQL_OK; /* nothing that only a connect can meet */
}

static enum dsql_rc by_sqlstate(const char *sqlstate, const char *message)
{
    static const struct {
        char code[6];
        enum dsql_rc rc;
    } whole[] = {
        {"0A000", DSQL_UNSUPPORTED}, {"23505", DSQL_DUPLICATE}, {"53400", DSQL_THROTTLED},
        {"42501", DSQL_DENIED},      {"08P01", DSQL_PROTOCOL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(whole); i++)
        if (is(sqlstate, whole[i].code))
            return whole[i].rc;
    if (in_class(sqlstate, "28"))
        return DSQL_DENIED;
    if (in_class(sqlstate, "53")) /* connections, disk, memory */
        return DSQL_LIMIT;
    if (in_class(sqlstate, "54"))
        return has(message, "transaction age limit") ? DSQL_TIMEOUT : DSQL_TOO_LARGE;
    if (is_gone(sqlstate))
        return DSQL_LOST;
    if (in_class(sqlstate, "XX") && has(message, "unavailable"))
        return DSQL_UNAVAILABLE;
    return DSQL_DATABASE;
}

/* Whether an error that answers COMMIT leaves open if it was carried out. An error the executor
 * raised is an answer: the transaction is rolled back. One about the server or the session is not.
 */
static bool leaves_open(const char *sqlstate)
{
    return is_gone(sqlstate) || in_class(sqlstate, "XX") || in_class(sqlstate, "58") ||
           is(sqlstate, "40003");
}

struct dsql_verdict dsql_classify(enum dsql_phase phase, const char *sqlstate, const char *message,
                                  const char *hint)
{
    struct dsql_verdict verdict = {.rc = DSQL_OK};
    if (!sqlstate)
        sqlstate = "";
    if (phase == DSQL_PHASE_CONNECT)
        verdict.rc = at_connect(sqlstate, message);
    if (verdict.rc == DSQL_DENIED)
        verdict.token_expired =
            has(hint, "signature expired") || has(hint, "signature not yet current");
    if (verdict.rc != DSQL_OK)
        return verdict;

    if (is_conflict(sqlstate)) {
        verdict.rc = conflict(sqlstate, message);
    } else if (is(sqlstate, "0A000") && has(message, "cached plan must not change result type")) {
        verdict.rc = DSQL_SCHEMA_CHANGED;
        verdict.stale_plan = true;
    } else if (*sqlstate == '\0' || (phase == DSQL_PHASE_COMMIT && leaves_open(sqlstate))) {
        verdict.rc = phase == DSQL_PHASE_COMMIT ? DSQL_COMMIT_UNKNOWN : DSQL_LOST;
    } else {
        verdict.rc = by_sqlstate(sqlstate, message);
    }
    return verdict;
}
