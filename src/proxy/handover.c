#include "proxy/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listen.h"
#include "net/pass.h"
#include "net/peer.h"
#include "proxy/proxy.h"

enum { PATIENCE_S = 30 };

static const char LISTENERS = 'L', READY = 'R', DONE = 'D';

/* -- The old process. */

static void successor_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_handover *handover = DSQL_CONTAINER_OF(watch, struct dsql_handover, successor);
    int fds[DSQL_PASS_MAX];
    size_t count;
    char byte = 0;
    (void)events;
    bool heard = dsql_pass_receive(watch->fd, &byte, fds, &count);
    for (size_t i = 0; heard && i < count; i++)
        close(fds[i]);
    if (heard && byte == READY) {
        handover->proxy->socket_path[0] = '\0'; /* it is the successor's now */
        dsql_entry_close(handover->proxy);
        dsql_loop_close(&handover->listener);
        (void)unlink(handover->path);
        handover->path[0] = '\0';
        handover->done = true;
        (void)dsql_pass_send(watch->fd, DONE, NULL, 0);
    }
    dsql_loop_close(watch); /* done, or given up */
}

/* Root and the proxy's own user may take over. */
static bool may_take_over(int fd)
{
    uid_t uid;
    struct dsql_err err;
    return !dsql_peer_uid(fd, &uid, &err) && (uid == 0 || uid == geteuid());
}

static void listener_ready(struct dsql_watch *watch, uint32_t events)
{
    struct dsql_handover *handover = DSQL_CONTAINER_OF(watch, struct dsql_handover, listener);
    const struct dsql_proxy *proxy = handover->proxy;
    int fds[DSQL_PROXY_LISTENERS];
    size_t count = 0;
    (void)events;
    int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (proxy->loopback.fd >= 0)
        fds[count++] = proxy->loopback.fd;
    if (proxy->local.fd >= 0)
        fds[count++] = proxy->local.fd;
    /* One at a time: the first keeps its turn until it is ready or gone. */
    if (handover->successor.fd >= 0 || !may_take_over(fd) ||
        !dsql_pass_send(fd, LISTENERS, fds, count)) {
        close(fd);
        return;
    }
    handover->successor = (struct dsql_watch){.fd = fd, .ready = successor_ready};
    dsql_loop_watch(&handover->proxy->loop, &handover->successor, EPOLLIN | EPOLLRDHUP);
}

enum dsql_rc dsql_handover_open(struct dsql_handover *handover, struct dsql_proxy *proxy,
                                const char *path, struct dsql_err *err)
{
    struct dsql_strbuf text;
    *handover = (struct dsql_handover){
        .proxy = proxy, .listener = {.fd = -1, .ready = listener_ready}, .successor = {.fd = -1}};
    enum dsql_rc rc = dsql_listen_unix(path, 0600, 1, &handover->listener.fd, err);
    if (rc)
        return rc;
    dsql_strbuf_init(&text, handover->path, sizeof(handover->path));
    dsql_strbuf_add_str(&text, path);
    dsql_loop_watch(&proxy->loop, &handover->listener, EPOLLIN);
    return DSQL_OK;
}

void dsql_handover_close(struct dsql_handover *handover)
{
    if (!handover->proxy)
        return;
    dsql_loop_close(&handover->successor);
    dsql_loop_close(&handover->listener);
    if (handover->path[0])
        (void)unlink(handover->path);
    handover->path[0] = '\0';
}

/* -- The new process. */

static bool connect_to(const char *path, int *fd)
{
    struct sockaddr_un address;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    *fd = -1;
    if (!dsql_unix_address(path, &address))
        return false;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0)
        return false;
    (void)setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(made, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(made);
        return false;
    }
    *fd = made;
    return true;
}

enum dsql_rc dsql_handover_ask(const char *path, int fds[DSQL_PROXY_LISTENERS], size_t *count,
                               int *socket, struct dsql_err *err)
{
    int got[DSQL_PASS_MAX];
    size_t n = 0;
    char byte = 0;
    *count = 0;
    if (!connect_to(path, socket))
        return DSQL_OK; /* the first of its line */
    bool heard = dsql_pass_receive(*socket, &byte, got, &n);
    for (size_t i = 0; i < n; i++) {
        if (i < DSQL_PROXY_LISTENERS)
            fds[(*count)++] = got[i];
        else
            close(got[i]);
    }
    if (heard && byte == LISTENERS && *count > 0)
        return DSQL_OK;
    while (*count > 0)
        close(fds[--*count]);
    close(*socket);
    *socket = -1;
    (void)dsql_err_set(err, DSQL_IO, "the proxy at %.100s hands nothing over", path);
    dsql_err_hint(err, "it gives way to its own user and to root, to one successor at a time");
    return DSQL_IO;
}

void dsql_handover_finish(int socket)
{
    int fds[DSQL_PASS_MAX];
    size_t count = 0;
    char byte;
    if (dsql_pass_send(socket, READY, NULL, 0) && dsql_pass_receive(socket, &byte, fds, &count))
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    close(socket);
}
