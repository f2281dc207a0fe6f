/*
 * The floor: a relay of one thread that only moves bytes, to know how much of what `dsql local` and
 * `dsql proxy` cost is the price of standing between a client and PostgreSQL at all. It looks into
 * nothing but the end of an answer, checks nothing, and is no program to be used.
 *
 *     relay_bench endpoint PORT CERTIFICATE KEY SOCKET        TLS in front, a Unix socket behind
 *     relay_bench pooler PORT SERVER_PORT USER CONNECTIONS    plain in front, TLS behind
 *
 * Listens on 127.0.0.1:PORT until it is killed. What it moves per transaction is the least that is
 * possible with sockets: one read and one write on either side. pgbench is its client: a message
 * of the client comes in one piece, an answer ends with ReadyForQuery. Without arguments it does
 * nothing.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/ssl.h>

enum { CHUNK = 16 << 10, EVENTS = 256, GREETING_MAX = 4096, REQUEST_LEN = 8 };

/* One end. An endpoint's ends come in pairs for life; a pooler's for one transaction. */
struct end {
    int fd;
    SSL *ssl; /* NULL: plain */
    struct end *other;
    struct end *next; /* a pooler's free servers, or clients that wait for one */
    bool is_client;
    bool logged_in;
    size_t held_len; /* what a waiting client sent */
    char *held;
};

static int epoll;
static SSL_CTX *tls;
static char
    greeting[GREETING_MAX]; /* what a server says behind the login, for a pooler's clients */
static size_t greeting_len;
static struct end *free_servers, *first_waiting, *last_waiting;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static long number(const char *word)
{
    return strtol(word, NULL, 10);
}

static struct end *new_end(int fd, bool is_client)
{
    struct end *end = calloc(1, sizeof(*end));
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = end}};
    int on = 1;
    if (!end)
        fail("calloc");
    end->fd = fd;
    end->is_client = is_client;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll");
    return end;
}

static ssize_t get(struct end *end, char *to, size_t size)
{
    if (!end->ssl)
        return recv(end->fd, to, size, 0);
    return SSL_read(end->ssl, to, (int)size);
}

static void put(struct end *end, const char *bytes, size_t len)
{
    if (end->ssl)
        (void)SSL_write(end->ssl, bytes, (int)len); /* one that is gone is seen when it is read */
    else
        (void)send(end->fd, bytes, len, MSG_NOSIGNAL);
}

static void drop(struct end *end)
{
    SSL_free(end->ssl);
    close(end->fd);
    free(end->held);
    free(end);
}

static int connect_to(const struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, address, len) != 0)
        fail("connect");
    return fd;
}

/* -- The endpoint: SSLRequest, a handshake, and then bytes to and from a socket of its own. */

static struct sockaddr_un behind = {.sun_family = AF_UNIX};

static void admit_to_endpoint(int fd)
{
    char request[REQUEST_LEN];
    if (recv(fd, request, sizeof(request), MSG_WAITALL) != REQUEST_LEN || send(fd, "S", 1, 0) != 1)
        fail("SSLRequest");
    SSL *ssl = SSL_new(tls);
    if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_accept(ssl) != 1)
        fail("TLS");
    SSL_set_read_ahead(ssl, 1);
    struct end *client = new_end(fd, true);
    client->ssl = ssl;
    client->other = new_end(connect_to((const struct sockaddr *)&behind, sizeof(behind)), false);
    client->other->other = client;
}

static bool move(struct end *from)
{
    char bytes[CHUNK];
    do {
        ssize_t n = get(from, bytes, sizeof(bytes));
        if (n <= 0)
            return false;
        put(from->other, bytes, (size_t)n);
    } while (from->ssl && SSL_has_pending(from->ssl));
    return true;
}

/* -- The pooler. */

static void open_server(uint16_t port, const char *user)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    static const char request[REQUEST_LEN] = {0, 0, 0, 8, 0x04, (char)0xd2, 0x16, 0x2f};
    char packet[256], answer[GREETING_MAX];
    int fd = connect_to((const struct sockaddr *)&address, sizeof(address));
    if (send(fd, request, sizeof(request), 0) != REQUEST_LEN || recv(fd, answer, 1, 0) != 1)
        fail("SSLRequest");
    SSL *ssl = SSL_new(tls);
    if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_connect(ssl) != 1)
        fail("TLS");
    SSL_set_read_ahead(ssl, 1);
    int len = snprintf(packet + 8, sizeof(packet) - 8, "user%c%s%cdatabase%cpostgres%c%c", 0, user,
                       0, 0, 0, 0);
    const uint32_t head[2] = {htonl((uint32_t)len + 8), htonl(196608)};
    memcpy(packet, head, sizeof(head));
    if (SSL_write(ssl, packet, len + 8) <= 0)
        fail("login");
    greeting_len = 0;
    do {
        int n = SSL_read(ssl, greeting + greeting_len, (int)(sizeof(greeting) - greeting_len));
        if (n <= 0)
            fail("login");
        greeting_len += (size_t)n;
    } while (memcmp(greeting + greeting_len - 6, "Z\0\0\0\5I", 6) != 0);
    struct end *server = new_end(fd, false);
    server->ssl = ssl;
    server->next = free_servers;
    free_servers = server;
}

static void lend(struct end *client, const char *bytes, size_t len)
{
    struct end *server = free_servers;
    free_servers = server->next;
    server->other = client;
    put(server, bytes, len);
}

static bool from_pooled_client(struct end *client)
{
    char bytes[CHUNK];
    ssize_t n = get(client, bytes, sizeof(bytes));
    if (n <= 0 || (client->logged_in && bytes[0] == 'X'))
        return false;
    if (!client->logged_in) {
        client->logged_in = true;
        put(client, greeting, greeting_len);
    } else if (free_servers) {
        lend(client, bytes, (size_t)n);
    } else {
        client->held = realloc(client->held, CHUNK);
        if (!client->held)
            fail("realloc");
        memcpy(client->held, bytes, (size_t)n);
        client->held_len = (size_t)n;
        client->next = NULL;
        *(first_waiting ? &last_waiting->next : &first_waiting) = client;
        last_waiting = client;
    }
    return true;
}

static bool from_pooled_server(struct end *server)
{
    char bytes[CHUNK];
    ssize_t n = get(server, bytes, sizeof(bytes));
    if (n <= 0)
        return false;
    put(server->other, bytes, (size_t)n);
    if (n < 6 || memcmp(bytes + n - 6, "Z\0\0\0\5I", 6) != 0)
        return true;
    server->next = free_servers;
    free_servers = server;
    struct end *client = first_waiting;
    if (client) {
        first_waiting = client->next;
        lend(client, client->held, client->held_len);
    }
    return true;
}

/* -- Both. */

static void serve(struct end *end, bool is_pooler)
{
    if (is_pooler) {
        if (!(end->is_client ? from_pooled_client(end) : from_pooled_server(end)))
            drop(end);
    } else if (!move(end)) {
        /* pgbench closes all at once: the pair's other event of this turn is still to come. */
        (void)shutdown(end->other->fd, SHUT_RDWR);
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, end->fd, NULL);
    }
}

static int listen_on(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 4096) != 0)
        fail("listen");
    return fd;
}

static void set_up(char **words, bool is_pooler)
{
    const struct rlimit files = {20000, 20000};
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGINT,
                 SIG_DFL); /* a shell starts what runs in the background with SIGINT ignored */
    epoll = epoll_create1(EPOLL_CLOEXEC);
    tls = SSL_CTX_new(is_pooler ? TLS_client_method() : TLS_server_method());
    if (epoll < 0 || !tls)
        fail("set-up");
    if (is_pooler) {
        for (long i = 0; i < number(words[5]); i++)
            open_server((uint16_t)number(words[3]), words[4]);
    } else {
        if (SSL_CTX_use_certificate_file(tls, words[3], SSL_FILETYPE_PEM) != 1 ||
            SSL_CTX_use_PrivateKey_file(tls, words[4], SSL_FILETYPE_PEM) != 1)
            fail("certificate");
        (void)snprintf(behind.sun_path, sizeof(behind.sun_path), "%s", words[5]);
    }
}

int main(int count, char **words)
{
    if (count != 6)
        return 0;
    bool is_pooler = strcmp(words[1], "pooler") == 0;
    set_up(words, is_pooler);
    int listener = listen_on((uint16_t)number(words[2]));
    struct epoll_event events[EVENTS] = {{.events = EPOLLIN}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &events[0]) != 0)
        fail("epoll");
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr) {
                serve(events[i].data.ptr, is_pooler);
                continue;
            }
            int fd = accept(listener, NULL, NULL);
            if (fd >= 0 && is_pooler)
                (void)new_end(fd, true);
            else if (fd >= 0)
                admit_to_endpoint(fd);
        }
    }
}
