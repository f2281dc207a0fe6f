/*
 * One connect: what libpq is told, and what its words mean when it fails. libpq has no result
 * object for a failed connect, only text; with PQERRORS_VERBOSE the text holds the SQLSTATE:
 *
 *     connection to server at "h" (127.0.0.1), port 5432 failed: FATAL:  08006: unable to accept
 * ... DETAIL:  ... HINT:  Signature expired: ...
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/utf8.h"
#include "pool/pool.h"

static void swallow_notice(void *arg, const char *message)
{
    (void)arg; /* libpq would print it */
    (void)message;
}

void dsql_connect_start(struct dsql_pool *pool, struct dsql_conn *conn,
                        const struct dsql_secret *token, const char *address)
{
    const struct {
        const char *keyword, *value;
    } parameters[] = {
        {"host", pool->target.host}, /* for the certificate and SNI */
        {"hostaddr", address},
        {"port", pool->target.port_text},
        {"user", pool->options.connection.user},
        {"dbname", pool->options.connection.database},
        {"password", dsql_secret_reveal(token).ptr},
        {"sslmode", "verify-full"},
        {"sslrootcert", pool->target.ca_path},
        {"sslsni", "1"},
        {"gssencmode", "disable"},
        {"target_session_attrs", "any"},
        {"client_encoding", "UTF8"},
        {"fallback_application_name", pool->options.budget.service},
        {"keepalives_idle", "60"},
        {"keepalives_interval", "10"},
        {"keepalives_count", "3"},
    };
    const char *keywords[DSQL_COUNT_OF(parameters) + 1] = {NULL};
    const char *values[DSQL_COUNT_OF(parameters) + 1] = {NULL};
    for (size_t i = 0; i < DSQL_COUNT_OF(parameters); i++) {
        keywords[i] = parameters[i].keyword;
        values[i] = parameters[i].value;
    }
    conn->pg = PQconnectStartParams(keywords, values, 0);
    if (!conn->pg)
        return;
    (void)PQsetErrorVerbosity(conn->pg, PQERRORS_VERBOSE);
    (void)PQsetNoticeProcessor(conn->pg, swallow_notice, NULL);
}

/* Closing the descriptor ends the watch. What can't be clean any more is cut off first, so that
 * libpq's goodbye never waits for a peer that does not read. */
void dsql_connect_finish(struct dsql_conn *conn, bool politely)
{
    if (!conn->pg)
        return;
    int fd = PQsocket(conn->pg);
    if (!politely && fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    PQfinish(conn->pg);
    conn->pg = NULL;
    conn->fd = -1;
    conn->watched = 0;
    conn->generation++;
}

/* The first line of a text, printable and in UTF-8, without blanks at its ends: libpq has been seen
 * to quote what was no text at all. */
static void copy_line(char *to, size_t size, struct dsql_span from)
{
    size_t n = 0;
    while (from.len > 0 && *from.ptr != '\n' && *from.ptr != '\0') {
        size_t len = dsql_utf8_len(from);
        unsigned char c = (unsigned char)*from.ptr;
        if (n + (len ? len : 1) >= size)
            break;
        if (len > 1)
            memcpy(to + n, from.ptr, len);
        else
            to[n] = len == 0 ? '?' : c < ' ' || c == 0x7f ? ' ' : (char)c;
        if (n > 0 || to[0] != ' ')
            n += len ? len : 1;
        from = dsql_span_from(from, len ? len : 1);
    }
    while (n > 0 && to[n - 1] == ' ')
        n--;
    to[n] = '\0';
}

static bool is_sqlstate(const char *s)
{
    for (int i = 0; i < 5; i++)
        if (!isdigit((unsigned char)s[i]) && !isupper((unsigned char)s[i]))
            return false;
    return s[5] == ':' && s[6] == ' ';
}

void dsql_connect_parse(const char *text, struct dsql_connect_report *report)
{
    const char *end = strchr(text, '\n');
    const char *line_end = end ? end : text + strlen(text);
    const char *message = text;
    /* "SEVERITY:  SQLSTATE: ..."; the severity may be in any language. */
    for (const char *p = text; (p = strstr(p, ":  ")) != NULL && p < line_end; p += 3) {
        if (strlen(p + 3) >= 7 && is_sqlstate(p + 3)) {
            memcpy(report->sqlstate, p + 3, 5);
            message = p + 3 + 7;
            break;
        }
    }
    copy_line(report->message, sizeof(report->message), dsql_span_of(message));
    const char *hint = strstr(text, "\nHINT:  ");
    if (hint)
        copy_line(report->hint, sizeof(report->hint), dsql_span_of(hint + 8));
}

static bool is_untrusted(const char *text)
{
    return strstr(text, "certificate verify failed") || strstr(text, "server certificate for") ||
           strstr(text, "server's certificate") || strstr(text, "root certificate file");
}

/* libpq says what the system said, in the system's language. */
static bool is_lack_of_resources(const char *text, int error_number)
{
    static const int numbers[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
    for (size_t i = 0; i < DSQL_COUNT_OF(numbers); i++)
        if (error_number == numbers[i] || strstr(text, strerror(numbers[i])))
            return true;
    return strstr(text, "out of memory") != NULL;
}

void dsql_connect_explain(const PGconn *pg, bool timed_out, int error_number,
                          struct dsql_connect_report *report)
{
    *report = (struct dsql_connect_report){0};
    const char *text = pg ? PQerrorMessage(pg) : "out of memory";
    if (timed_out)
        copy_line(report->message, sizeof(report->message), DSQL_SPAN("the connect took too long"));
    else if (error_number)
        copy_line(report->message, sizeof(report->message), dsql_span_of(strerror(error_number)));
    else
        dsql_connect_parse(text, report);
    const struct dsql_connect_failure failure = {
        .sqlstate = report->sqlstate,
        .message = report->message,
        .hint = report->hint,
        .untrusted = !timed_out && report->sqlstate[0] == '\0' && is_untrusted(text),
        .no_resources =
            !timed_out && report->sqlstate[0] == '\0' && is_lack_of_resources(text, error_number),
    };
    report->cls = dsql_connect_classify(&failure, &report->rc);
    if (timed_out)
        report->rc = DSQL_TIMEOUT;
}
