/* net: streams over a socket, listeners and who is at the other end. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listen.h"
#include "net/peer.h"
#include "net/stream.h"
#include "support/test.h"

static int connect_loopback(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

TEST(stream_without_tls)
{
    int pair[2];
    char got[64];
    size_t n;
    struct dsql_outbox box;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    const struct dsql_stream here = {pair[0], NULL}, there = {pair[1], NULL};
    assert_int_equal(dsql_stream_read(there, got, sizeof(got), &n), DSQL_STREAM_WAITS);
    dsql_outbox_init(&box);
    dsql_strbuf_add_str(&box.bytes, "hello");
    assert_int_equal(dsql_stream_write(here, &box), DSQL_STREAM_GOES_ON);
    assert_int_equal(dsql_outbox_waiting(&box).len, 0);
    assert_int_equal(dsql_stream_read(there, got, sizeof(got), &n), DSQL_STREAM_GOES_ON);
    assert_int_equal(n, 5);
    assert_memory_equal(got, "hello", 5);
    close(pair[0]);
    assert_int_equal(dsql_stream_read(there, got, sizeof(got), &n), DSQL_STREAM_ENDED);
    dsql_strbuf_add_str(&box.bytes, "nobody reads this");
    assert_int_equal(dsql_stream_write(there, &box), DSQL_STREAM_ENDED); /* and no SIGPIPE */
    dsql_outbox_fini(&box);
    close(pair[1]);
}

/* What the socket does not take stays in the box, in order. */
TEST(stream_that_is_full)
{
    int pair[2];
    static char bytes[4 << 20], got[1 << 16];
    size_t n, total = 0;
    struct dsql_outbox box;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 31 >> 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    dsql_outbox_init(&box);
    dsql_strbuf_add(&box.bytes, (struct dsql_span){bytes, sizeof(bytes)});
    assert_int_equal(dsql_stream_write((struct dsql_stream){pair[0], NULL}, &box),
                     DSQL_STREAM_WAITS);
    assert_true(dsql_outbox_is_full(&box));
    while (total < sizeof(bytes)) {
        if (dsql_stream_read((struct dsql_stream){pair[1], NULL}, got, sizeof(got), &n) ==
            DSQL_STREAM_WAITS) {
            (void)dsql_stream_write((struct dsql_stream){pair[0], NULL}, &box);
            continue;
        }
        assert_memory_equal(got, bytes + total, n);
        total += n;
    }
    assert_int_equal(dsql_outbox_waiting(&box).len, 0);
    close(pair[0]);
    close(pair[1]);
}

TEST(peer_of_loopback)
{
    uint16_t port = 0;
    int listener, other;
    uid_t uid = (uid_t)-1;
    struct dsql_err err;
    assert_int_equal(dsql_listen_loopback(&port, 4, &listener, &err), DSQL_OK);
    assert_true(port > 0);
    assert_int_equal(dsql_listen_loopback(&port, 4, &other, &err), DSQL_IO); /* is taken */
    int client = connect_loopback(port), served = -1;
    while (served < 0)
        served = accept(listener, NULL, NULL);
    assert_int_equal(dsql_peer_uid(served, &uid, &err), DSQL_OK);
    assert_int_equal(uid, geteuid());
    if (geteuid() == 0) { /* the kernel's word, not ours: a socket of somebody else's */
        assert_int_equal(fchown(client, 12345, 12345), 0);
        assert_int_equal(dsql_peer_uid(served, &uid, &err), DSQL_OK);
        assert_int_equal(uid, 12345);
    }
    close(client);
    close(served);
    close(listener);
}

TEST(peer_of_unix_socket)
{
    char folder[] = "/tmp/net_test.XXXXXX", path[64];
    struct sockaddr_un address;
    struct stat info;
    struct dsql_err err;
    int listener;
    uid_t uid = (uid_t)-1;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    assert_int_equal(dsql_listen_unix(path, 0600, 4, &listener, &err), DSQL_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_true(dsql_unix_address(path, &address));
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof(address)), 0);
    int served = accept(listener, NULL, NULL);
    assert_int_equal(dsql_peer_uid(served, &uid, &err), DSQL_OK);
    assert_int_equal(uid, geteuid());
    close(client);
    close(served);
    close(listener);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_without_tls),
        cmocka_unit_test(stream_that_is_full),
        cmocka_unit_test(peer_of_loopback),
        cmocka_unit_test(peer_of_unix_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
