#include "cli/local_env.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "local/process/trust_files.h"

#define LOCALHOST "localhost"

enum { HOSTS_MAX = 256 << 10 };

void dsql_local_add_quoted(struct dsql_strbuf *out, struct dsql_span value)
{
    struct dsql_span part;
    dsql_strbuf_add_char(out, '\'');
    while (dsql_span_cut(value, '\'', &part, &value)) {
        dsql_strbuf_add(out, part);
        dsql_strbuf_add_str(out, "'\\''");
    }
    dsql_strbuf_add(out, part);
    dsql_strbuf_add_char(out, '\'');
}

bool dsql_env_format_of(struct dsql_span name, enum dsql_env_format *format)
{
    static const char *const names[] = {
        [DSQL_ENV_SHELL] = "shell", [DSQL_ENV_JSON] = "json", [DSQL_ENV_DOTENV] = "dotenv"};
    for (size_t i = DSQL_ENV_SHELL; i < DSQL_COUNT_OF(names); i++) {
        if (!dsql_span_eq(name, dsql_span_of(names[i])))
            continue;
        *format = (enum dsql_env_format)i;
        return true;
    }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The first word of *rest, which is what stands behind it afterwards; empty at the end. */
static struct dsql_span next_word(struct dsql_span *rest)
{
    size_t from = 0;
    while (from < rest->len && is_blank(rest->ptr[from]))
        from++;
    *rest = dsql_span_from(*rest, from);
    size_t len = 0;
    while (len < rest->len && !is_blank(rest->ptr[len]))
        len++;
    struct dsql_span word = dsql_span_first(*rest, len);
    *rest = dsql_span_from(*rest, len);
    return word;
}

bool dsql_hosts_have(struct dsql_span hosts, struct dsql_span name)
{
    struct dsql_span line, comment, word;
    while (hosts.len > 0) {
        dsql_span_cut(hosts, '\n', &line, &hosts);
        dsql_span_cut(line, '#', &line, &comment);
        if (!dsql_span_eq(next_word(&line), DSQL_SPAN("127.0.0.1")))
            continue;
        while ((word = next_word(&line)).len > 0)
            if (dsql_span_eq_nocase(word, name))
                return true;
    }
    return false;
}

static bool is_variable(struct dsql_span name)
{
    static const char *const known[] = {"CLUSTER_ENDPOINT", "CLUSTER_USER", "REGION",
                                        "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"};
    for (size_t i = 0; i < DSQL_COUNT_OF(known); i++)
        if (dsql_span_eq(name, dsql_span_of(known[i])))
            return true;
    for (size_t i = 0; i < name.len; i++)
        if (!((name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') ||
              (name.ptr[i] >= '0' && name.ptr[i] <= '9') || name.ptr[i] == '_'))
            return false;
    return dsql_span_starts(name, DSQL_SPAN("PG")) || dsql_span_starts(name, DSQL_SPAN("AWS_")) ||
           dsql_span_starts(name, DSQL_SPAN("DSQL_"));
}

/* A file .env has no grammar of its own: plain words are bare, so that even programs that know no
 * quotes read them; the rest is in quotes, of the kind that all readers take as it stands. */
static void add_dotenv_value(struct dsql_strbuf *out, struct dsql_span value)
{
    bool plain = true, quote = false;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || strchr("_./:@%+,-", c));
        quote = quote || c == '\'';
    }
    if (plain) {
        dsql_strbuf_add(out, value);
        return;
    }
    dsql_strbuf_add_char(out, quote ? '"' : '\'');
    for (size_t i = 0; i < value.len; i++) {
        if (quote && strchr("\"\\$`", value.ptr[i]))
            dsql_strbuf_add_char(out, '\\');
        dsql_strbuf_add_char(out, value.ptr[i]);
    }
    dsql_strbuf_add_char(out, quote ? '"' : '\'');
}

static void add_pair(struct dsql_strbuf *out, struct dsql_span name, struct dsql_span value,
                     enum dsql_env_format format, bool *first)
{
    switch (format) {
    case DSQL_ENV_JSON:
        dsql_strbuf_addf(out, "%s\n  \"%.*s\": ", *first ? "{" : ",", DSQL_SPAN_ARG(name));
        dsql_strbuf_add_json(out, value);
        break;
    case DSQL_ENV_SHELL:
        dsql_strbuf_addf(out, "export %.*s=", DSQL_SPAN_ARG(name));
        dsql_local_add_quoted(out, value);
        dsql_strbuf_add_char(out, '\n');
        break;
    case DSQL_ENV_DOTENV:
        dsql_strbuf_addf(out, "%.*s=", DSQL_SPAN_ARG(name));
        add_dotenv_value(out, value);
        dsql_strbuf_add_char(out, '\n');
        break;
    case DSQL_ENV_PLAIN:
        dsql_strbuf_addf(out, "%.*s=%.*s\n", DSQL_SPAN_ARG(name), DSQL_SPAN_ARG(value));
        break;
    }
    *first = false;
}

/* What a line among others says of a variable; empty if none does. */
static struct dsql_span value_of(struct dsql_span lines, struct dsql_span wanted)
{
    struct dsql_span line, name, value;
    while (lines.len > 0) {
        dsql_span_cut(lines, '\n', &line, &lines);
        if (dsql_span_cut(line, '=', &name, &value) && dsql_span_eq(name, wanted))
            return value;
    }
    return DSQL_SPAN("");
}

/* The value with the name of the cluster where it said localhost. */
static void add_named(struct dsql_strbuf *value, struct dsql_span given, struct dsql_span cluster)
{
    struct dsql_span local = DSQL_SPAN(LOCALHOST);
    bool other =
        !dsql_span_starts(given, local) || (given.len > local.len && given.ptr[local.len] != ':');
    if (!other) {
        dsql_strbuf_add(value, cluster);
        given = dsql_span_from(given, local.len);
    }
    dsql_strbuf_add(value, given);
}

/* What the JVM needs to trust the endpoint. A path that can't stand in quotes is none of ours. */
static bool add_java_options(struct dsql_strbuf *value, struct dsql_span store,
                             struct dsql_span given)
{
    char memory[1024];
    struct dsql_strbuf ours;
    if (store.len == 0 || memchr(store.ptr, '"', store.len))
        return false;
    dsql_strbuf_init(&ours, memory, sizeof(memory));
    dsql_strbuf_addf(&ours,
                     "\"-Djavax.net.ssl.trustStore=%.*s\" -Djavax.net.ssl.trustStoreType=PKCS12 "
                     "-Djavax.net.ssl.trustStorePassword=" DSQL_TRUST_STORE_PASSWORD,
                     DSQL_SPAN_ARG(store));
    if (ours.cut)
        return false;
    if (given.len > 0 && !memmem(given.ptr, given.len, ours.ptr, ours.len))
        dsql_strbuf_addf(value, "%.*s ", DSQL_SPAN_ARG(given));
    dsql_strbuf_add(value, dsql_strbuf_span(&ours));
    return true;
}

void dsql_local_env_write(struct dsql_strbuf *out, struct dsql_span lines,
                          const struct dsql_env_place *place, enum dsql_env_format format)
{
    char memory[4096];
    struct dsql_strbuf made;
    struct dsql_span line, name, value, rest = lines;
    struct dsql_span cluster = value_of(lines, DSQL_SPAN("CLUSTER_ENDPOINT"));
    bool first = true, is_named = cluster.len > 0 && dsql_hosts_have(place->hosts, cluster);
    while (rest.len > 0) {
        dsql_span_cut(rest, '\n', &line, &rest);
        if (!dsql_span_cut(line, '=', &name, &value) || !is_variable(name))
            continue;
        dsql_strbuf_init(&made, memory, sizeof(memory));
        if (is_named && (dsql_span_eq(name, DSQL_SPAN("PGHOST")) ||
                         dsql_span_eq(name, DSQL_SPAN("DSQL_ENDPOINT")))) {
            add_named(&made, value, cluster);
            value = dsql_strbuf_span(&made);
        }
        add_pair(out, name, value, format, &first);
    }
    dsql_strbuf_init(&made, memory, sizeof(memory));
    if (add_java_options(&made, value_of(lines, DSQL_SPAN("DSQL_LOCAL_TRUST_STORE")),
                         place->java_options) &&
        !made.cut)
        add_pair(out, DSQL_SPAN("JAVA_TOOL_OPTIONS"), dsql_strbuf_span(&made), format, &first);
    if (format == DSQL_ENV_JSON)
        dsql_strbuf_add_str(out, first ? "{}\n" : "\n}\n");
}

/* The machine's file of hosts; empty if it can't be read. */
static struct dsql_span read_hosts(char *memory, size_t cap)
{
    size_t have = 0;
    ssize_t got = 0;
    int fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && have < cap && (got = read(fd, memory + have, cap - have)) > 0)
        have += (size_t)got;
    if (fd >= 0)
        close(fd);
    return (struct dsql_span){memory, have};
}

void dsql_local_env_write_here(struct dsql_strbuf *out, struct dsql_span lines,
                               enum dsql_env_format format)
{
    static char memory[HOSTS_MAX];
    const char *java = getenv("JAVA_TOOL_OPTIONS");
    const struct dsql_env_place place = {.hosts = read_hosts(memory, sizeof(memory)),
                                         .java_options = dsql_span_of(java ? java : "")};
    dsql_local_env_write(out, lines, &place, format);
}

bool dsql_hosts_have_here(const char *name)
{
    static char memory[HOSTS_MAX];
    return dsql_hosts_have(read_hosts(memory, sizeof(memory)), dsql_span_of(name));
}
