/*
 * Idle clients of a pooler, and what they cost it.
 *
 *     proxy_bench PORT USER CLIENTS PID
 *
 * Logs CLIENTS plaintext clients in at 127.0.0.1:PORT, each with one round trip of a statement, so
 * that what a statement leaves behind is counted, and prints by how many bytes for each client the
 * memory of process PID has grown. Run by bench/proxy.sh; without arguments it does nothing.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pgwire/put_frontend.h"

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Resident memory of a process, in bytes. */
static long resident(const char *pid)
{
    char path[64], line[256];
    long kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%s/status", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    fclose(file);
    return kib * 1024;
}

/* Up to and with ReadyForQuery, which ends with 'Z', its length 5 and the state. */
static void read_ready(int fd)
{
    static const char end[] = {'Z', 0, 0, 0, 5, 'I'};
    char bytes[8192] = {0};
    size_t have = 0;
    while (have < sizeof(end) || memcmp(bytes + have - sizeof(end), end, sizeof(end)) != 0) {
        ssize_t n = recv(fd, bytes + have, sizeof(bytes) - have, 0);
        if (n <= 0)
            fail("a client was not answered");
        have += (size_t)n;
    }
}

static void send_all(int fd, const struct dsql_strbuf *out)
{
    if (out->cut || send(fd, out->ptr, out->len, MSG_NOSIGNAL) != (ssize_t)out->len)
        fail("send");
}

static int connect_client(uint16_t port, const char *user)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct dsql_strbuf out;
    char memory[256];
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        fail("connect");
    dsql_strbuf_init(&out, memory, sizeof(memory));
    struct dsql_pg_msg msg = dsql_pg_msg_begin(&out, 0);
    dsql_pg_msg_u32(&msg, 3 << 16);
    dsql_pg_msg_text(&msg, DSQL_SPAN("user"));
    dsql_pg_msg_text(&msg, dsql_span_of(user));
    dsql_pg_msg_text(&msg, DSQL_SPAN("database"));
    dsql_pg_msg_text(&msg, DSQL_SPAN("postgres"));
    dsql_pg_msg_u8(&msg, 0);
    dsql_pg_msg_end(&msg);
    send_all(fd, &out);
    read_ready(fd);
    dsql_strbuf_clear(&out);
    dsql_pg_put_query(&out, DSQL_SPAN("select 1"));
    send_all(fd, &out);
    read_ready(fd);
    return fd;
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    if (argc != 5)
        return 0;
    uint16_t port = (uint16_t)strtoul(argv[1], NULL, 10);
    long clients = strtol(argv[3], NULL, 10), first = 0;
    if (clients <= 0)
        return 2;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (long i = 0; i <= clients; i++) {
        (void)connect_client(port, argv[2]);
        if (i == 0)
            first =
                resident(argv[4]); /* what the process takes for its first client is not counted */
    }
    long last = resident(argv[4]);
    printf("%ld\n", (last - first) / clients);
    return 0;
}
