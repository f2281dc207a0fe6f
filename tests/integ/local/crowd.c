/*
 * A crowd of clients: opens N connections to the endpoint in the environment, one after another,
 * logs each in and holds it. Prints how many got in and how many were refused with 53400, in how
 * many milliseconds. No libpq: ten thousand of its connections would cost more than what is
 * measured.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "base/clock.h"
#include "pgwire/backend.h"
#include "pgwire/put_frontend.h"

enum outcome { IN, REFUSED, BROKEN };

static const char *env(const char *name)
{
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "%s is not set: run it with dsql local exec\n", name);
        exit(2);
    }
    return value;
}

static SSL *open_tls(SSL_CTX *context, uint16_t port)
{
    static const unsigned char request[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}; /* SSLRequest */
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char answer = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SSL *ssl = SSL_new(context);
    bool ok = fd >= 0 && ssl &&
              connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
              write(fd, request, sizeof(request)) == (ssize_t)sizeof(request) &&
              read(fd, &answer, 1) == 1 && answer == 'S' && SSL_set_fd(ssl, fd) == 1 &&
              SSL_set_tlsext_host_name(ssl, "localhost") == 1 && SSL_connect(ssl) == 1;
    if (ok)
        return ssl;
    SSL_free(ssl);
    if (fd >= 0)
        close(fd);
    return NULL;
}

static bool send_all(SSL *ssl, struct dsql_strbuf *out)
{
    bool ok = !out->cut && SSL_write(ssl, out->ptr, (int)out->len) == (int)out->len;
    dsql_strbuf_clear(out);
    return ok;
}

/* What the server says, its first message being of this type. */
static bool hears(SSL *ssl, char type, struct dsql_span *said)
{
    static char heard[8192];
    int got = SSL_read(ssl, heard, sizeof(heard));
    *said = (struct dsql_span){heard, got > 0 ? (size_t)got : 0};
    return got > 0 && heard[0] == type;
}

static enum outcome log_in(SSL *ssl, const char *token)
{
    static const struct dsql_pg_param params[] = {{{"user", 4}, {"admin", 5}},
                                                  {{"database", 8}, {"postgres", 8}}};
    char memory[8192];
    struct dsql_strbuf out;
    struct dsql_span said;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_pg_put_startup(&out, params, DSQL_COUNT_OF(params));
    if (!send_all(ssl, &out))
        return BROKEN;
    if (!hears(ssl, DSQL_PG_BE_AUTHENTICATION, &said))
        return said.len > 0 && memmem(said.ptr, said.len, "C53400", 6) ? REFUSED : BROKEN;
    dsql_pg_put_text(&out, DSQL_PG_FE_PASSWORD, dsql_span_of(token));
    return send_all(ssl, &out) && hears(ssl, DSQL_PG_BE_AUTHENTICATION, &said) ? IN : BROKEN;
}

int main(int argc, char **argv)
{
    int64_t wanted = 0, port = 0, counts[3] = {0};
    if (argc != 2 || !dsql_span_to_i64(dsql_span_of(argv[1]), &wanted) ||
        !dsql_span_to_i64(dsql_span_of(env("PGPORT")), &port))
        return 2;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return 1;
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    struct dsql_mono start = dsql_clock_mono(&dsql_clock_system);
    for (int64_t i = 0; i < wanted; i++) {
        SSL *ssl = open_tls(context, (uint16_t)port);
        counts[ssl ? log_in(ssl, env("PGPASSWORD")) : BROKEN]++; /* held until we end */
    }
    int64_t took_ns = dsql_mono_since(dsql_clock_mono(&dsql_clock_system), start);
    printf("in=%lld refused=%lld broken=%lld ms=%lld\n", (long long)counts[IN],
           (long long)counts[REFUSED], (long long)counts[BROKEN], (long long)(took_ns / DSQL_MS));
    (void)fflush(stdout);
    (void)fgetc(stdin); /* hold them until somebody has looked */
    return 0;
}
