#include "net/peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

/* Asks for the one socket whose addresses are given, and reads whose it is. */
static enum dsql_rc ask(int netlink, const struct inet_diag_sockid *id, uid_t *uid,
                        struct dsql_err *err)
{
    struct question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_INET,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_states = UINT32_MAX,
                    .id = *id},
    };
    struct {
        struct nlmsghdr header;
        struct inet_diag_msg socket;
        char attributes[1024]; /* not asked for, but sent */
    } answer;
    static_assert(offsetof(struct question, request) == NLMSG_HDRLEN, "netlink pads its header");
    const struct timeval limit = {.tv_sec = 1}; /* the kernel answers before send() returns */
    (void)setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (send(netlink, &question, sizeof(question), 0) != (ssize_t)sizeof(question))
        return dsql_err_set(err, DSQL_UNSUPPORTED, "the kernel does not tell whose a socket is: %s",
                            strerror(errno));
    ssize_t got = recv(netlink, &answer, sizeof(answer), 0);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(answer.socket)) ||
        answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return dsql_err_set(err, DSQL_UNSUPPORTED,
                            "the other end of the connection is no socket of this machine");
    *uid = answer.socket.idiag_uid;
    return DSQL_OK;
}

static enum dsql_rc uid_of_tcp(const struct sockaddr_in *self, const struct sockaddr_in *peer,
                               uid_t *uid, struct dsql_err *err)
{
    /* The peer's socket has our addresses the other way round. */
    const struct inet_diag_sockid id = {
        .idiag_sport = peer->sin_port,
        .idiag_dport = self->sin_port,
        .idiag_src = {peer->sin_addr.s_addr},
        .idiag_dst = {self->sin_addr.s_addr},
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
    };
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0)
        return dsql_err_set(err, DSQL_UNSUPPORTED, "the kernel does not tell whose a socket is: %s",
                            strerror(errno));
    enum dsql_rc rc = ask(netlink, &id, uid, err);
    close(netlink);
    return rc;
}

enum dsql_rc dsql_peer_uid(int fd, uid_t *uid, struct dsql_err *err)
{
    struct sockaddr_storage self = {0}, peer = {0};
    socklen_t self_len = sizeof(self), peer_len = sizeof(peer);
    if (getsockname(fd, (struct sockaddr *)&self, &self_len) != 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
        return dsql_err_set(err, DSQL_UNSUPPORTED, "the connection is gone: %s", strerror(errno));
    if (self.ss_family == AF_UNIX) {
        struct ucred who;
        socklen_t len = sizeof(who);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
            return dsql_err_set(err, DSQL_UNSUPPORTED, "SO_PEERCRED: %s", strerror(errno));
        *uid = who.uid;
        return DSQL_OK;
    }
    if (self.ss_family != AF_INET)
        return dsql_err_set(err, DSQL_UNSUPPORTED, "neither a Unix socket nor an IPv4 one");
    return uid_of_tcp((const struct sockaddr_in *)&self, (const struct sockaddr_in *)&peer, uid,
                      err);
}
