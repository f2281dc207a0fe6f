/*
 * The logger behind dsql/log.h: logfmt lines, stable event names, typed fields.
 *
 *     dsql_log(log, DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("setting", name), DSQL_F("value", 50));
 *
 * A line is built on the stack and handed to the sink whole: no allocation, no lock. Each event
 * that events.def calls LIMITED may write DSQL_LOG_BURST lines in DSQL_LOG_WINDOW_NS; what comes on
 * top is counted, and the next line of that event carries suppressed=N.
 *
 * DSQL_F takes numbers, booleans, characters, strings and spans. It has no case for a secret, a
 * pointer to one or what dsql_secret_reveal() returns: those lines do not compile. In the values of
 * strings and spans (a URL or a header quoted by some library, say) what follows the names
 * Signature and Security-Token, alone or at the end of a longer name such as X-Amz-Signature, is
 * replaced by ***: after `=`, `:` and their percent-encoded forms, in any case, up to the next
 * blank, quote, comma, & or line end. Other secrets in a string are not recognized.
 */
#ifndef DSQL_BASE_LOG_H
#define DSQL_BASE_LOG_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/span.h"
#include "dsql/log.h"

enum dsql_event {
#define DSQL_EVENT(name, level, limit, text, doc) DSQL_EVENT_##name,
#include "base/events.def"
#undef DSQL_EVENT
    DSQL_EVENT_COUNT
};

struct dsql_event_info {
    enum dsql_log_level level;
    bool limited; /* to DSQL_LOG_BURST lines in DSQL_LOG_WINDOW_NS */
    const char *name;
    const char *doc;
};
extern const struct dsql_event_info dsql_events[DSQL_EVENT_COUNT];

#define DSQL_LOG_WINDOW_NS (10 * DSQL_S)
enum {
    DSQL_LOG_BURST = 10,
    DSQL_LOG_LINE_MAX = 2048, /* longer lines are cut, are still logfmt and end in "..." */
};

struct dsql_log {
    const struct dsql_clock *clock;
    dsql_log_sink_fn *sink;
    void *sink_arg;
    _Atomic int level;
    struct dsql_log_quota {
        _Atomic int64_t window_opened; /* monotonic ns + 1; 0 before the first line */
        _Atomic uint32_t written;
        _Atomic uint32_t suppressed;
    } quota[DSQL_EVENT_COUNT];
};

void dsql_log_init(struct dsql_log *log, const struct dsql_clock *clock, dsql_log_sink_fn *sink,
                   void *sink_arg);

/* The logger of this process, the one dsql/log.h speaks of. */
struct dsql_log *dsql_log_default(void);

/* Sets the level, unless the program has called dsql_log_set_level(), which counts more. */
void dsql_log_set_level_by_setting(enum dsql_log_level level);

/* "error", "warn", "info" or "debug", in any case. */
bool dsql_log_level_parse(struct dsql_span text, enum dsql_log_level *level);

struct dsql_field {
    const char *key;
    enum {
        DSQL_FIELD_I64,
        DSQL_FIELD_U64,
        DSQL_FIELD_F64,
        DSQL_FIELD_BOOL,
        DSQL_FIELD_CHAR,
        DSQL_FIELD_TEXT,
    } kind;
    union {
        int64_t i64;
        uint64_t u64;
        double f64;
        bool boolean;
        char character;
        struct dsql_span text;
    };
};

static inline struct dsql_field dsql_field_i64(const char *key, int64_t v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_I64, .i64 = v};
}

static inline struct dsql_field dsql_field_u64(const char *key, uint64_t v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_U64, .u64 = v};
}

static inline struct dsql_field dsql_field_f64(const char *key, double v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_F64, .f64 = v};
}

static inline struct dsql_field dsql_field_bool(const char *key, bool v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_BOOL, .boolean = v};
}

static inline struct dsql_field dsql_field_char(const char *key, char v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_CHAR, .character = v};
}

static inline struct dsql_field dsql_field_span(const char *key, struct dsql_span v)
{
    return (struct dsql_field){.key = key, .kind = DSQL_FIELD_TEXT, .text = v};
}

static inline struct dsql_field dsql_field_str(const char *key, const char *v)
{
    return dsql_field_span(key, v ? dsql_span_of(v) : DSQL_SPAN(""));
}

/* A char is shown as the character it is, signed and unsigned char as numbers. */
/* clang-format off */
#define DSQL_F(key, value)                                                                          \
    _Generic((value),                                                                               \
        bool: dsql_field_bool, char: dsql_field_char,                                               \
        signed char: dsql_field_i64, short: dsql_field_i64,                                         \
        int: dsql_field_i64, long: dsql_field_i64, long long: dsql_field_i64,                       \
        unsigned char: dsql_field_u64, unsigned short: dsql_field_u64,                              \
        unsigned: dsql_field_u64, unsigned long: dsql_field_u64, unsigned long long: dsql_field_u64, \
        float: dsql_field_f64, double: dsql_field_f64,                                              \
        char *: dsql_field_str, const char *: dsql_field_str,                                       \
        struct dsql_span: dsql_field_span)(key, value)
/* clang-format on */

/* At least one field; an event that says it all takes dsql_log_event(). */
#define dsql_log(log, event, ...)                                                                  \
    dsql_log_fields((log), (event), (const struct dsql_field[]){__VA_ARGS__},                      \
                    DSQL_COUNT_OF(((const struct dsql_field[]){__VA_ARGS__})))

void dsql_log_fields(struct dsql_log *log, enum dsql_event event, const struct dsql_field *fields,
                     size_t count);

static inline void dsql_log_event(struct dsql_log *log, enum dsql_event event)
{
    dsql_log_fields(log, event, NULL, 0);
}

#endif
