#include "base/log.h"

#include <errno.h>
#include <unistd.h>

#include "base/utf8.h"

const struct dsql_event_info dsql_events[DSQL_EVENT_COUNT] = {
#define DSQL_EVENT(name, level, text, doc) {DSQL_LOG_##level, text, doc},
#include "base/events.def"
#undef DSQL_EVENT
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

const char *dsql_log_level_name(enum dsql_log_level level)
{
    return (unsigned)level < DSQL_COUNT_OF(level_names) ? level_names[level] : "?";
}

bool dsql_log_level_parse(struct dsql_span text, enum dsql_log_level *level)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(level_names); i++) {
        if (dsql_span_eq_nocase(text, dsql_span_of(level_names[i]))) {
            *level = (enum dsql_log_level)i;
            return true;
        }
    }
    return false;
}

/* One write for one line, so that lines of several threads and processes do not mix. A log that
 * can't be written must not stop the program: what does not go out is lost. */
static void stderr_sink(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg;
    (void)level;
    int saved = errno;
    while (len > 0) {
        ssize_t sent = write(STDERR_FILENO, line, len);
        if (sent < 0 && errno != EINTR)
            break;
        if (sent > 0) {
            line += sent;
            len -= (size_t)sent;
        }
    }
    errno = saved;
}

void dsql_log_init(struct dsql_log *log, const struct dsql_clock *clock, dsql_log_sink_fn *sink,
                   void *sink_arg)
{
    *log = (struct dsql_log){
        .clock = clock,
        .sink = sink ? sink : stderr_sink,
        .sink_arg = sink_arg,
        .level = DSQL_LOG_INFO,
    };
}

static struct dsql_log process_log = {
    .clock = &dsql_clock_system,
    .sink = stderr_sink,
    .level = DSQL_LOG_INFO,
};

struct dsql_log *dsql_log_default(void)
{
    return &process_log;
}

void dsql_log_set_sink(dsql_log_sink_fn *fn, void *arg)
{
    process_log.sink = fn ? fn : stderr_sink;
    process_log.sink_arg = arg;
}

void dsql_log_set_level(enum dsql_log_level level)
{
    atomic_store_explicit(&process_log.level, (int)level, memory_order_relaxed);
}

/*
 * Whether this event may write now, and how many of its lines were dropped since its last one. Two
 * threads that start a window at the same moment may let a few lines more through: that is
 * harmless.
 */
static bool may_write(struct dsql_log_quota *quota, int64_t now_ns, uint32_t *suppressed)
{
    int64_t opened = atomic_load_explicit(&quota->window_opened, memory_order_relaxed);
    if ((opened == 0 || now_ns - (opened - 1) >= DSQL_LOG_WINDOW_NS) &&
        atomic_compare_exchange_strong_explicit(&quota->window_opened, &opened, now_ns + 1,
                                                memory_order_relaxed, memory_order_relaxed))
        atomic_store_explicit(&quota->written, 0, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&quota->written, 1, memory_order_relaxed) >= DSQL_LOG_BURST) {
        atomic_fetch_add_explicit(&quota->suppressed, 1, memory_order_relaxed);
        return false;
    }
    *suppressed = atomic_exchange_explicit(&quota->suppressed, 0, memory_order_relaxed);
    return true;
}

/* The query parameters of a presigned URL that grant access; compared without regard to case. */
static const struct dsql_span masked[] = {
    {"X-Amz-Signature=", 16},
    {"X-Amz-Security-Token=", 21},
};

static size_t masked_prefix(struct dsql_span s)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(masked); i++)
        if (s.len >= masked[i].len &&
            dsql_span_eq_nocase(dsql_span_first(s, masked[i].len), masked[i]))
            return masked[i].len;
    return 0;
}

static bool ends_parameter(char c)
{
    return c == '&' || c == ' ' || c == '"' || c == '\'' || c == '\n' || c == ',';
}

/* Values of one plain word stand bare, all others in quotes. */
static bool is_bare(struct dsql_span s)
{
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
            return false;
    }
    return true;
}

static void add_text(struct dsql_strbuf *sb, struct dsql_span s)
{
    if (is_bare(s)) {
        dsql_strbuf_add(sb, s);
        return;
    }
    dsql_strbuf_add_char(sb, '"');
    while (s.len > 0) {
        size_t prefix = masked_prefix(s);
        if (prefix > 0) {
            dsql_strbuf_add(sb, dsql_span_first(s, prefix));
            dsql_strbuf_add_str(sb, "***");
            s = dsql_span_from(s, prefix);
            while (s.len > 0 && !ends_parameter(s.ptr[0]))
                s = dsql_span_from(s, 1);
            continue;
        }
        unsigned char c = (unsigned char)s.ptr[0];
        size_t n = dsql_utf8_len(s);
        if (c == '"' || c == '\\')
            dsql_strbuf_addf(sb, "\\%c", c);
        else if (c == '\n')
            dsql_strbuf_add_str(sb, "\\n");
        else if (n == 0 || c < ' ' || c == 0x7f)
            dsql_strbuf_addf(sb, "\\x%02x", c);
        else
            dsql_strbuf_add(sb, dsql_span_first(s, n));
        s = dsql_span_from(s, n ? n : 1);
    }
    dsql_strbuf_add_char(sb, '"');
}

static void add_field(struct dsql_strbuf *sb, const struct dsql_field *field)
{
    dsql_strbuf_add_char(sb, ' ');
    dsql_strbuf_add_str(sb, field->key);
    dsql_strbuf_add_char(sb, '=');
    switch (field->kind) {
    case DSQL_FIELD_I64:
        dsql_strbuf_add_i64(sb, field->i64);
        break;
    case DSQL_FIELD_U64:
        dsql_strbuf_add_u64(sb, field->u64);
        break;
    case DSQL_FIELD_F64:
        dsql_strbuf_addf(sb, "%.6g", field->f64);
        break;
    case DSQL_FIELD_BOOL:
        dsql_strbuf_add_str(sb, field->boolean ? "true" : "false");
        break;
    case DSQL_FIELD_TEXT:
        add_text(sb, field->text);
        break;
    }
}

void dsql_log_fields(struct dsql_log *log, enum dsql_event event, const struct dsql_field *fields,
                     size_t count)
{
    assert((unsigned)event < DSQL_EVENT_COUNT);
    const struct dsql_event_info *info = &dsql_events[event];
    if ((int)info->level > atomic_load_explicit(&log->level, memory_order_relaxed))
        return;
    uint32_t suppressed = 0;
    if (!may_write(&log->quota[event], dsql_clock_mono_coarse(log->clock).ns, &suppressed))
        return;

    char memory[DSQL_LOG_LINE_MAX];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, memory, sizeof(memory) - 4); /* room for "...\n" */
    dsql_strbuf_add_str(&sb, "ts=");
    dsql_wall_format(&sb, dsql_clock_wall(log->clock));
    dsql_strbuf_addf(&sb, " level=%s event=%s", dsql_log_level_name(info->level), info->name);
    if (suppressed > 0)
        dsql_strbuf_addf(&sb, " suppressed=%u", (unsigned)suppressed);
    for (size_t i = 0; i < count; i++)
        add_field(&sb, &fields[i]);
    size_t len = sb.len;
    if (sb.cut) {
        memcpy(memory + len, "...", 3);
        len += 3;
    }
    memory[len++] = '\n';
    log->sink(log->sink_arg, info->level, memory, len);
}
