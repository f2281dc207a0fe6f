#include "support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_MAX = 64 * 1024, OUT_MAX = 64 * 1024 };

struct dsql_span http_asked_header(const struct http_asked *asked, const char *name)
{
    struct dsql_span rest = asked->head, line, key, value;
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, '\n', &line, &rest);
        if (dsql_span_cut(line, ':', &key, &value) && dsql_span_eq_nocase(key, dsql_span_of(name)))
            return dsql_span_trim(value);
    }
    return DSQL_SPAN("");
}

/* False when the server is to stop. */
static bool wait_for(struct http_server *server, int fd, short events)
{
    struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = server->stop_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0) {
    }
    return !fds[1].revents;
}

/* Reads one request; false if the peer went away before it was whole. */
static bool receive(struct http_server *server, int fd, char *memory, struct http_asked *asked)
{
    size_t len = 0;
    for (;;) {
        if (len == IN_MAX || !wait_for(server, fd, POLLIN))
            return false;
        ssize_t n = recv(fd, memory + len, IN_MAX - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        const char *end = memmem(memory, len, "\r\n\r\n", 4);
        if (!end)
            continue;
        size_t head_len = (size_t)(end - memory) + 4;
        struct dsql_span line, rest, version;
        int64_t wanted = 0;
        (void)dsql_span_cut((struct dsql_span){memory, head_len}, '\n', &line, &asked->head);
        (void)dsql_span_cut(line, ' ', &asked->method, &rest);
        (void)dsql_span_cut(rest, ' ', &asked->target, &version);
        (void)dsql_span_to_i64(http_asked_header(asked, "content-length"), &wanted);
        asked->body = (struct dsql_span){memory + head_len, len - head_len};
        if ((int64_t)asked->body.len >= wanted)
            return true;
    }
}

static bool say(struct http_server *server, int fd, struct dsql_span s)
{
    while (s.len > 0) {
        if (!wait_for(server, fd, POLLOUT))
            return false;
        ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);
        if (n < 0)
            return false;
        s = dsql_span_from(s, (size_t)n);
    }
    return true;
}

static void respond(struct http_server *server, int fd, const struct http_told *told)
{
    char head[256];
    static const char padding[4096] = {0};
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, head, sizeof(head));
    if (told->stall) {
        (void)wait_for(server, fd, POLLIN); /* a client that gives up closes */
        return;
    }
    if (told->raw) {
        (void)say(server, fd, dsql_span_of(told->raw));
        return;
    }
    if (told->status == 0)
        return;
    dsql_strbuf_addf(&sb,
                     "HTTP/1.1 %d Because\r\nDate: Mon, 16 Nov 2026 10:00:00 GMT\r\n"
                     "Content-Length: %zu\r\nConnection: %s\r\n\r\n",
                     told->status, told->body.len + told->padding,
                     told->keep ? "keep-alive" : "close");
    bool more =
        say(server, fd, dsql_strbuf_span(&sb)) && say(server, fd, dsql_strbuf_span(&told->body));
    for (size_t left = told->padding; left > 0 && more;) {
        size_t n = left < sizeof(padding) ? left : sizeof(padding);
        more = say(server, fd, (struct dsql_span){padding, n});
        left -= n;
    }
}

static void *serve(void *arg)
{
    struct http_server *server = arg;
    static _Thread_local char in[IN_MAX], out[OUT_MAX];
    while (wait_for(server, server->listener, POLLIN)) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        struct http_asked asked;
        struct http_told told = {.keep = true};
        while (told.keep && receive(server, fd, in, &asked)) {
            told = (struct http_told){.status = 200};
            dsql_strbuf_init(&told.body, out, sizeof(out));
            server->answer(server->arg, &asked, &told);
            atomic_fetch_add(&server->served, 1);
            respond(server, fd, &told);
        }
        (void)close(fd);
    }
    return NULL;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

void http_server_start(struct http_server *server, http_answer_fn *answer, void *arg)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    *server = (struct http_server){.answer = answer, .arg = arg};
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server->stop_fd >= 0 && server->listener >= 0, "socket");
    must(!bind(server->listener, (struct sockaddr *)&address, len), "bind");
    must(!listen(server->listener, 64), "listen");
    must(!getsockname(server->listener, (struct sockaddr *)&address, &len), "getsockname");
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, server->url, sizeof(server->url));
    dsql_strbuf_addf(&sb, "http://127.0.0.1:%d", ntohs(address.sin_port));
    must(!pthread_create(&server->thread, NULL, serve, server), "pthread_create");
}

void http_server_stop(struct http_server *server)
{
    (void)eventfd_write(server->stop_fd, 1);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
    (void)close(server->stop_fd);
}
