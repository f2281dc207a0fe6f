/*
 * Clients that mean no good, against the endpoint in the environment:  local_hostile KIND
 * Each does what it does, waits until the endpoint has closed the connection, and ends with 0; with
 * 3 if the endpoint is patient (KIND nothing), after a while.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "base/span.h"
#include "pgwire/put_frontend.h"

enum { PATIENCE_MS = 600000, A_WHILE_MS = 500 };

static int dial(void)
{
    int64_t port = 0;
    const char *text = getenv("PGPORT");
    if (!text || !dsql_span_to_i64(dsql_span_of(text), &port))
        exit(2);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        exit(2);
    return fd;
}

static void put(int fd, const void *bytes, size_t len)
{
    if (write(fd, bytes, len) != (ssize_t)len)
        exit(2);
}

/* Until the other side has closed; what it says before does not matter. */
static int wait_closed(int fd, int limit_ms, int patient)
{
    char sink[4096];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, limit_ms) == 1)
        if (read(fd, sink, sizeof(sink)) <= 0)
            return 0;
    return patient;
}

static SSL *dial_tls(int *fd)
{
    static const unsigned char request[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};
    char answer = 0;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context ? SSL_new(context) : NULL;
    *fd = dial();
    put(*fd, request, sizeof(request));
    if (!ssl || read(*fd, &answer, 1) != 1 || answer != 'S' || SSL_set_fd(ssl, *fd) != 1 ||
        SSL_set_tlsext_host_name(ssl, "localhost") != 1 || SSL_connect(ssl) != 1)
        exit(2);
    return ssl;
}

static void put_tls(SSL *ssl, const struct dsql_strbuf *out)
{
    if (out->cut || SSL_write(ssl, out->ptr, (int)out->len) != (int)out->len)
        exit(2);
}

/* Logs in and hears the end of the welcome. */
static SSL *log_in(int *fd)
{
    static const struct dsql_pg_param params[] = {{{"user", 4}, {"admin", 5}},
                                                  {{"database", 8}, {"postgres", 8}}};
    char memory[8192], heard[8192];
    struct dsql_strbuf out;
    const char *token = getenv("PGPASSWORD");
    SSL *ssl = dial_tls(fd);
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_pg_put_startup(&out, params, DSQL_COUNT_OF(params));
    put_tls(ssl, &out);
    if (SSL_read(ssl, heard, sizeof(heard)) <= 0 || heard[0] != 'R' || !token)
        exit(2);
    dsql_strbuf_clear(&out);
    dsql_pg_put_text(&out, DSQL_PG_FE_PASSWORD, dsql_span_of(token));
    put_tls(ssl, &out);
    int got = 0; /* the welcome comes in one piece or in several */
    while (got < 6 || heard[got - 6] != 'Z') {
        int more = SSL_read(ssl, heard + got, (int)sizeof(heard) - got);
        if (more <= 0)
            exit(2);
        got += more;
    }
    return ssl;
}

static int say(bool logged_in, const char *bytes, size_t len)
{
    int fd;
    SSL *ssl = logged_in ? log_in(&fd) : dial_tls(&fd);
    if (SSL_write(ssl, bytes, (int)len) != (int)len)
        return 2;
    return wait_closed(fd, PATIENCE_MS, 4);
}

int main(int argc, char **argv)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char high[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    static const char tls_junk[] =
        "\x16\x03\x01\x00\x20nonsense nonsense nonsense nonsense nonsense";
    static const char huge_startup[] = "\x40\x00\x00\x00\x00\x03\x00\x00";
    static const char huge_query[] = "Q\x40\x00\x00\x00select";
    static const char half_query[] = "Q\x00\x00\x00\x40select";
    static const char small_query[] = "Q\x00\x00\x00\x03";
    static const char unknown[] = "~\x00\x00\x00\x04";
    const char *kind = argc == 2 ? argv[1] : "";
    int fd = -1;
    if (strcmp(kind, "http") == 0 || strcmp(kind, "high") == 0 || strcmp(kind, "tls-junk") == 0) {
        fd = dial();
        if (kind[0] == 'h' && kind[1] == 't')
            put(fd, http, sizeof(http) - 1);
        else if (kind[0] == 'h')
            put(fd, high, sizeof(high) - 1);
        else
            put(fd, tls_junk, sizeof(tls_junk) - 1);
        return wait_closed(fd, PATIENCE_MS, 4);
    }
    if (strcmp(kind, "nothing") == 0)
        return wait_closed(dial(), A_WHILE_MS, 3);
    if (strcmp(kind, "half") == 0) { /* of a message, and goes */
        SSL *ssl = log_in(&fd);
        (void)SSL_write(ssl, half_query, sizeof(half_query) - 1);
        return 0;
    }
    if (strcmp(kind, "startup") == 0)
        return say(false, huge_startup, sizeof(huge_startup) - 1);
    if (strcmp(kind, "query") == 0)
        return say(true, huge_query, sizeof(huge_query) - 1);
    if (strcmp(kind, "small") == 0)
        return say(true, small_query, sizeof(small_query) - 1);
    if (strcmp(kind, "unknown") == 0)
        return say(true, unknown, sizeof(unknown) - 1);
    return 2;
}
