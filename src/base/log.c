#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/utf8.h"

enum { ALWAYS, LIMITED }; /* the words of events.def */

const struct dsql_event_info dsql_events[DSQL_EVENT_COUNT] = {
#define DSQL_EVENT(name, level, limit, text, doc) {DSQL_LOG_##level, (limit) == LIMITED, text, doc},
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

/* False if the reader of the pipe has gone. */
static bool write_all(int fd, const char *line, size_t len)
{
    while (len > 0) {
        ssize_t sent = write(fd, line, len);
        if (sent > 0) {
            line += sent;
            len -= (size_t)sent;
        } else if (sent == 0 || errno != EINTR) {
            return sent == 0 || errno != EPIPE;
        }
    }
    return true;
}

/*
 * One write for one line, so that lines of several threads and processes do not mix. A log that
 * can't be written must not stop the program: what does not go out is lost, and so is what a full
 * pipe has no room for. The SIGPIPE of a pipe
 * without a reader is sent to the thread that writes, so it is held back here and taken away,
 * unless one was waiting before: that one belongs to the program.
 */
static void stderr_sink(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg;
    (void)level;
    int saved = errno;
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, 0) == 0) {
        errno = saved;
        return;
    }
    sigset_t broken_pipe, waiting, before;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigemptyset(&waiting);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    if (!write_all(STDERR_FILENO, line, len) && !sigismember(&waiting, SIGPIPE)) {
        static const struct timespec at_once = {0};
        while (sigtimedwait(&broken_pipe, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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

static _Atomic bool level_is_the_programs;

void dsql_log_set_level(enum dsql_log_level level)
{
    atomic_store_explicit(&level_is_the_programs, true, memory_order_relaxed);
    atomic_store_explicit(&process_log.level, (int)level, memory_order_relaxed);
}

void dsql_log_set_level_by_setting(enum dsql_log_level level)
{
    if (!atomic_load_explicit(&level_is_the_programs, memory_order_relaxed))
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

/* What follows these names grants access: see log.h. Compared without regard to case. */
static const struct dsql_span secret_names[] = {{"Signature", 9}, {"Security-Token", 14}};

static bool is_blank_or_quote(char c)
{
    return c == ' ' || c == '\t' || c == '"' || c == '\'';
}

/* A quote may be escaped, as in JSON within JSON. */
static size_t skip_blanks_and_quotes(struct dsql_span s, size_t at)
{
    while (at < s.len && (is_blank_or_quote(s.ptr[at]) || s.ptr[at] == '\\'))
        at++;
    return at;
}

/* The length of `=`, `:`, `%3D`, `%3A`, `%253D` and so on at the start of s; 0 if it is none. */
static size_t separator_len(struct dsql_span s)
{
    size_t at = 0;
    if (s.len == 0)
        return 0;
    if (s.ptr[0] == '=' || s.ptr[0] == ':')
        return 1;
    if (s.ptr[at++] != '%')
        return 0;
    while (dsql_span_starts(dsql_span_from(s, at), DSQL_SPAN("25")))
        at += 2;
    if (s.len < at + 2)
        return 0;
    struct dsql_span code = dsql_span_first(dsql_span_from(s, at), 2);
    bool found =
        dsql_span_eq_nocase(code, DSQL_SPAN("3d")) || dsql_span_eq_nocase(code, DSQL_SPAN("3a"));
    return found ? at + 2 : 0;
}

/* The length of the name and the separator that s starts with, if a secret follows them; else 0. */
static size_t prefix_of_secret(struct dsql_span s)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(secret_names); i++) {
        size_t at = secret_names[i].len;
        if (s.len < at || !dsql_span_eq_nocase(dsql_span_first(s, at), secret_names[i]))
            continue;
        at = skip_blanks_and_quotes(s, at);
        size_t separator = separator_len(dsql_span_from(s, at));
        return separator ? skip_blanks_and_quotes(s, at + separator) : 0;
    }
    return 0;
}

static bool ends_secret(char c)
{
    return c == '&' || c == ',' || c == '\r' || c == '\n' || is_blank_or_quote(c);
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

/* All of s or, when that does not fit, nothing: an escape or a character is not cut in two. */
static void add_whole(struct dsql_strbuf *sb, struct dsql_span s)
{
    if (s.len > sb->cap - 1 - sb->len)
        sb->cut = true;
    dsql_strbuf_add(sb, s);
}

/* The first character of s as it stands in quotes; answers how many bytes of s that was. */
static size_t add_character(struct dsql_strbuf *sb, struct dsql_span s)
{
    char memory[8];
    struct dsql_strbuf escape;
    dsql_strbuf_init(&escape, memory, sizeof(memory));
    unsigned char c = (unsigned char)s.ptr[0];
    size_t n = dsql_utf8_len(s);
    if (c == '"' || c == '\\')
        dsql_strbuf_addf(&escape, "\\%c", c);
    else if (c == '\n')
        dsql_strbuf_add_str(&escape, "\\n");
    else if (n == 0 || c < ' ' || c == 0x7f)
        dsql_strbuf_addf(&escape, "\\x%02x", c);
    else
        dsql_strbuf_add(&escape, dsql_span_first(s, n));
    add_whole(sb, dsql_strbuf_span(&escape));
    return n ? n : 1;
}

static void add_masked(struct dsql_strbuf *sb, struct dsql_span s)
{
    size_t prefix = 0; /* how much of s is known to stand before a secret */
    while (s.len > 0 && !sb->cut) {
        if (prefix == 0)
            prefix = prefix_of_secret(s);
        size_t n = add_character(sb, s);
        s = dsql_span_from(s, n);
        if (prefix == 0 || (prefix -= n) > 0)
            continue;
        add_whole(sb, DSQL_SPAN("***"));
        while (s.len > 0 && !ends_secret(s.ptr[0]))
            s = dsql_span_from(s, 1);
    }
}

/* Answers whether the line was cut inside quotes. */
static bool add_text(struct dsql_strbuf *sb, struct dsql_span s)
{
    if (is_bare(s)) {
        add_masked(sb, s);
        return false;
    }
    dsql_strbuf_add_char(sb, '"');
    if (sb->cut)
        return false;
    add_masked(sb, s);
    dsql_strbuf_add_char(sb, '"');
    return sb->cut;
}

/* Answers whether the line was cut inside quotes. */
static bool add_field(struct dsql_strbuf *sb, const struct dsql_field *field)
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
        dsql_strbuf_add_f64(sb, field->f64);
        break;
    case DSQL_FIELD_BOOL:
        dsql_strbuf_add_str(sb, field->boolean ? "true" : "false");
        break;
    case DSQL_FIELD_CHAR:
        return add_text(sb, (struct dsql_span){&field->character, 1});
    case DSQL_FIELD_TEXT:
        return add_text(sb, field->text);
    }
    return false;
}

void dsql_log_fields(struct dsql_log *log, enum dsql_event event, const struct dsql_field *fields,
                     size_t count)
{
    assert((unsigned)event < DSQL_EVENT_COUNT);
    const struct dsql_event_info *info = &dsql_events[event];
    if ((int)info->level > atomic_load_explicit(&log->level, memory_order_relaxed))
        return;
    uint32_t suppressed = 0;
    if (info->limited &&
        !may_write(&log->quota[event], dsql_clock_mono_coarse(log->clock).ns, &suppressed))
        return;

    char memory[DSQL_LOG_LINE_MAX];
    struct dsql_strbuf sb;
    /* With room for the end of a line that is cut. */
    dsql_strbuf_init(&sb, memory, sizeof(memory) - sizeof("\" ..."));
    dsql_strbuf_add_str(&sb, "ts=");
    dsql_wall_format(&sb, dsql_clock_wall(log->clock));
    dsql_strbuf_addf(&sb, " level=%s event=%s", dsql_log_level_name(info->level), info->name);
    if (suppressed > 0)
        dsql_strbuf_addf(&sb, " suppressed=%u", (unsigned)suppressed);
    bool in_quotes = false;
    for (size_t i = 0; i < count && !sb.cut; i++)
        in_quotes = add_field(&sb, &fields[i]);
    size_t len = sb.len;
    if (sb.cut) {
        /* After a closing quote the dots are a word of their own. */
        struct dsql_span mark = in_quotes                ? DSQL_SPAN("\" ...")
                                : memory[len - 1] == '"' ? DSQL_SPAN(" ...")
                                                         : DSQL_SPAN("...");
        memcpy(memory + len, mark.ptr, mark.len);
        len += mark.len;
    }
    memory[len++] = '\n';
    log->sink(log->sink_arg, info->level, memory, len);
}
