#include "dsql/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "dsql/version.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

static const struct {
    const char *name;
    enum dsql_class cls;
    const char *text;
} codes[] = {
#define ROW(code, class_, text_) {#code, DSQL_CLASS_##class_, text_},
    DSQL_RC_TABLE(ROW)
#undef ROW
};
static_assert(DSQL_COUNT_OF(codes) == DSQL_RC_COUNT, "one row for each code");

static bool is_code(enum dsql_rc rc)
{
    return (unsigned)rc < DSQL_COUNT_OF(codes);
}

const char *dsql_version(void)
{
    return STRING(DSQL_VERSION_MAJOR) "." STRING(DSQL_VERSION_MINOR) "." STRING(DSQL_VERSION_PATCH);
}

const char *dsql_rc_name(enum dsql_rc rc)
{
    return is_code(rc) ? codes[rc].name : "?";
}

const char *dsql_rc_text(enum dsql_rc rc)
{
    return is_code(rc) ? codes[rc].text : "unknown outcome";
}

enum dsql_class dsql_rc_class(enum dsql_rc rc)
{
    return is_code(rc) ? codes[rc].cls : DSQL_CLASS_PERMANENT;
}

const char *dsql_class_name(enum dsql_class cls)
{
    switch (cls) {
    case DSQL_CLASS_OK:
        return "ok";
    case DSQL_CLASS_CONDITION:
        return "condition";
    case DSQL_CLASS_RETRY:
        return "retry";
    case DSQL_CLASS_UNKNOWN:
        return "unknown";
    case DSQL_CLASS_BUSY:
        return "busy";
    case DSQL_CLASS_DENIED:
        return "denied";
    case DSQL_CLASS_LOST:
        return "lost";
    case DSQL_CLASS_CALLER:
        return "caller";
    case DSQL_CLASS_PERMANENT:
        return "permanent";
    }
    return "?";
}

enum dsql_rc dsql_err_set(struct dsql_err *err, enum dsql_rc rc, const char *fmt, ...)
{
    if (err) {
        /* Beside the error first: its own strings may be among the arguments. */
        char message[sizeof(err->message)] = "";
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(message, sizeof(message), fmt, args);
        va_end(args);
        memcpy(err->message, message, sizeof(message));
        err->rc = rc;
        err->sqlstate[0] = '\0';
        err->entity[0] = '\0';
        err->key[0] = '\0';
        err->hint[0] = '\0';
    }
    return rc;
}

void dsql_err_hint(struct dsql_err *err, const char *fmt, ...)
{
    if (err) {
        char hint[sizeof(err->hint)] = "";
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(hint, sizeof(hint), fmt, args);
        va_end(args);
        memcpy(err->hint, hint, sizeof(hint));
    }
}
