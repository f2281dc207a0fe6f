#include "net/pass.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(DSQL_PASS_MAX * sizeof(int))];
};

bool dsql_pass_send(int socket, char byte, const int *fds, size_t count)
{
    union control control = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    assert(count <= DSQL_PASS_MAX);
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

bool dsql_pass_receive(int socket, char *byte, int fds[DSQL_PASS_MAX], size_t *count)
{
    union control control = {0};
    struct iovec part = {.iov_base = byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    *count = 0;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        return false;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        *count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(at), *count * sizeof(int));
    }
    return true;
}
