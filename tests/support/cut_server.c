#include "support/cut_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

enum { TEXT = 256, PREPARED_MAX = 32, MESSAGE_MAX = 64 << 10 };

struct session {
    struct cut_server *server;
    int fd;
    struct cut cut;
    int messages, answers;
    bool in_transaction, skips; /* skips: up to the next Sync */
    bool failed;                /* the transaction can only be rolled back */
    int rows;                   /* of what is not yet committed */
    char names[PREPARED_MAX][TEXT], texts[PREPARED_MAX][TEXT];
    size_t prepared;
    char bound[TEXT]; /* the text of the portal */
};

static bool read_all(int fd, void *out, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t got = read(fd, (char *)out + at, len - at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static void put(int fd, const void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t sent = send(fd, (const char *)bytes + at, len - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

/* An answer, unless all are given that are to be. */
static void answer(struct session *s, char kind, const void *body, size_t len)
{
    char message[512] = {kind};
    uint32_t size = htonl((uint32_t)len + 4);
    assert_true(len + 5 <= sizeof(message));
    memcpy(message + 1, &size, 4);
    memcpy(message + 5, body, len);
    if (s->cut.answers < 0 || s->answers < s->cut.answers)
        put(s->fd, message, len + 5);
    else if (s->answers == s->cut.answers && s->cut.half)
        put(s->fd, message, (len + 5) / 2);
    s->answers++;
}

static void ready(struct session *s)
{
    char state = s->failed ? 'E' : s->in_transaction ? 'T' : 'I';
    answer(s, 'Z', &state, 1);
}

static void refuse(struct session *s, const char *sqlstate)
{
    char body[64];
    int len = snprintf(body, sizeof(body), "SERROR%cVERROR%cC%s%cMrefused%c", 0, 0, sqlstate, 0, 0);
    answer(s, 'E', body, (size_t)len + 1);
    s->skips = true;
    s->failed = s->in_transaction;
    if (!s->in_transaction)
        s->rows = 0;
}

static void complete(struct session *s, const char *tag)
{
    answer(s, 'C', tag, strlen(tag) + 1);
}

static void commit(struct session *s)
{
    s->server->applied += s->rows;
    s->rows = 0;
}

static void execute(struct session *s)
{
    const char *text = s->bound;
    if (strncmp(text, "BEGIN", 5) == 0) {
        s->in_transaction = true;
        complete(s, "BEGIN");
    } else if (strcmp(text, "COMMIT") == 0 && !s->failed) {
        commit(s);
        s->in_transaction = false;
        complete(s, "COMMIT");
    } else if (strcmp(text, "COMMIT") == 0 || strcmp(text, "ROLLBACK") == 0) {
        s->in_transaction = s->failed = false;
        s->rows = 0;
        complete(s, "ROLLBACK");
    } else if (s->failed) {
        refuse(s, "25P02");
    } else if (s->server->fails && strstr(text, s->server->fails)) {
        refuse(s, "22012");
    } else {
        s->rows++;
        complete(s, "INSERT 0 1");
    }
}

/* A zero-terminated string of a message, cut to fit. */
static const char *take_text(const char *at, char out[TEXT])
{
    (void)snprintf(out, TEXT, "%s", at);
    return at + strlen(at) + 1;
}

static void parse(struct session *s, const char *body)
{
    size_t at = 0;
    char name[TEXT];
    body = take_text(body, name);
    while (at < s->prepared && strcmp(s->names[at], name) != 0)
        at++;
    assert_true(at < PREPARED_MAX);
    s->prepared = at == s->prepared ? at + 1 : s->prepared;
    (void)take_text(name, s->names[at]);
    (void)take_text(body, s->texts[at]);
    answer(s, '1', "", 0);
}

static void bind_portal(struct session *s, const char *body)
{
    size_t at = 0;
    char portal[TEXT], name[TEXT];
    body = take_text(body, portal);
    (void)take_text(body, name);
    while (at < s->prepared && strcmp(s->names[at], name) != 0)
        at++;
    assert_true(at < s->prepared);
    (void)take_text(s->texts[at], s->bound);
    answer(s, '2', "", 0);
}

static void carry_out(struct session *s, char kind, const char *body)
{
    if (kind == 'S') {
        if (!s->in_transaction && !s->skips)
            commit(s);
        s->skips = false;
        ready(s);
        return;
    }
    if (s->skips)
        return;
    switch (kind) {
    case 'P':
        parse(s, body);
        break;
    case 'B':
        bind_portal(s, body);
        break;
    case 'D':
        answer(s, 'n', "", 0);
        break;
    case 'E':
        execute(s);
        break;
    default:
        break;
    }
}

static bool start_up(struct session *s)
{
    uint32_t len;
    char body[TEXT * 8];
    if (!read_all(s->fd, &len, 4) || ntohl(len) < 8 || ntohl(len) - 4 > sizeof(body) ||
        !read_all(s->fd, body, ntohl(len) - 4))
        return false;
    answer(s, 'R', "\0\0\0", 4);
    answer(s, 'S', "client_encoding\0UTF8", sizeof("client_encoding\0UTF8"));
    ready(s);
    return true;
}

static void serve(struct cut_server *server, int fd)
{
    struct session *s = calloc(1, sizeof(*s));
    char *body = malloc(MESSAGE_MAX);
    assert_true(s && body);
    *s = (struct session){.server = server, .fd = fd, .cut = {-1, -1, false}};
    bool open = start_up(s), first = server->connections++ == 0;
    if (first)
        s->cut = server->first;
    s->answers = 0;
    while (open && s->messages != s->cut.messages) {
        char kind;
        uint32_t len;
        open = read_all(fd, &kind, 1) && read_all(fd, &len, 4) && ntohl(len) <= MESSAGE_MAX &&
               read_all(fd, body, ntohl(len) - 4) && kind != 'X';
        if (!open)
            break;
        carry_out(s, kind, body);
        s->messages++;
        /* The client has not heard all of it, and would wait for ever. */
        open = kind != 'S' || s->cut.answers < 0 || s->answers <= s->cut.answers;
    }
    if (first) {
        server->messages = s->messages;
        server->answers = s->answers;
    }
    close(fd);
    free(body);
    free(s);
}

static void *accept_all(void *arg)
{
    struct cut_server *server = arg;
    while (!__atomic_load_n(&server->ends, __ATOMIC_ACQUIRE)) {
        struct pollfd listener = {.fd = server->listener, .events = POLLIN};
        if (poll(&listener, 1, 1) <= 0)
            continue;
        int fd = accept(server->listener, NULL, NULL);
        if (fd >= 0)
            serve(server, fd);
    }
    return NULL;
}

void cut_server_start(struct cut_server *server)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(here);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&here, len), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&here, &len), 0);
    server->port = ntohs(here.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, accept_all, server), 0);
}

void cut_server_join(struct cut_server *server)
{
    __atomic_store_n(&server->ends, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->listener);
}
