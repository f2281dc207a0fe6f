#include "support/strict_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Hands on what has come, all of it before anything else is done. */
static bool hand_on(int from, int to)
{
    char bytes[16 << 10];
    ssize_t got = read(from, bytes, sizeof(bytes));
    for (ssize_t at = 0; at < got;) {
        ssize_t put = send(to, bytes + at, (size_t)(got - at), MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        at += put;
    }
    return got > 0;
}

static void *relay_one(void *arg)
{
    const struct strict_relay *relay = arg;
    struct sockaddr_in to = loopback(relay->to_port);
    int client = accept(relay->listener, NULL, NULL);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int small = 64 << 10;
    (void)setsockopt(client, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    bool open = connect(server, (struct sockaddr *)&to, sizeof(to)) == 0;
    while (open) {
        struct pollfd fds[] = {{.fd = server, .events = POLLIN}, {.fd = client, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            break;
        if (relay->pause_us > 0)
            (void)usleep((unsigned)relay->pause_us);
        if (fds[0].revents)
            open = hand_on(server, client);
        else if (fds[1].revents)
            open = hand_on(client, server);
    }
    close(client);
    close(server);
    return NULL;
}

void strict_relay_start(struct strict_relay *relay, int to_port)
{
    struct sockaddr_in here = loopback(0);
    socklen_t len = sizeof(here);
    int small = 64 << 10;
    relay->to_port = to_port;
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(relay->listener >= 0);
    (void)setsockopt(relay->listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    assert_int_equal(bind(relay->listener, (struct sockaddr *)&here, len), 0);
    assert_int_equal(listen(relay->listener, 1), 0);
    assert_int_equal(getsockname(relay->listener, (struct sockaddr *)&here, &len), 0);
    relay->port = ntohs(here.sin_port);
    assert_int_equal(pthread_create(&relay->thread, NULL, relay_one, relay), 0);
}

void strict_relay_join(struct strict_relay *relay)
{
    assert_int_equal(pthread_join(relay->thread, NULL), 0);
    close(relay->listener);
}
