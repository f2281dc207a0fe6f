/*
 * The kernel's wall alone: what a process behind it can't do, tried by the system calls themselves,
 * and what a superuser of PostgreSQL can't do behind it when no rule of ours is in the way
 * (postgres --single, without the module). Each thing is tried without the wall first, so that a
 * refusal for another reason is not taken for the wall's. Nothing to see on a kernel without
 * Landlock.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/process/cluster.h"
#include "support/test.h"

static struct dsql_folder folder;
static struct dsql_programs programs;
static pid_t neighbour;  /* a process of PostgreSQL's user, not behind any wall */
static char outside[64]; /* a folder that everybody may write in, with a file to be read */

static void path_in(char (*out)[DSQL_LOCAL_PATH_MAX], const char *name)
{
    (void)snprintf(*out, sizeof(*out), "%s/%s", outside, name);
}

static int set_up(void **state)
{
    struct dsql_err err;
    char path[DSQL_LOCAL_PATH_MAX];
    bool made;
    (void)state;
    (void)snprintf(outside, sizeof(outside), "/tmp/dsql-wall-XXXXXX");
    if (!mkdtemp(outside) || chmod(outside, 0777) != 0)
        return -1;
    path_in(&path, "readable");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "diary\n", 6) != 6 || fchmod(fd, 0644) != 0 || close(fd) != 0)
        return -1;
    if (dsql_folder_open(&folder, NULL, &err) ||
        dsql_programs_find(&programs, &folder, false, &err))
        return -1;
    neighbour = fork();
    if (neighbour == 0) {
        if (dsql_local_user_become(&folder.user))
            pause();
        _exit(1);
    }
    return dsql_folder_sub(&folder, "pg", &made, &err) ||
           dsql_folder_sub(&folder, "run", &made, &err);
}

static int tear_down(void **state)
{
    char path[DSQL_LOCAL_PATH_MAX];
    (void)state;
    (void)kill(neighbour, SIGKILL);
    (void)waitpid(neighbour, NULL, 0);
    path_in(&path, "readable");
    (void)unlink(path);
    path_in(&path, "written");
    (void)unlink(path);
    (void)rmdir(outside);
    dsql_folder_close(&folder);
    return 0;
}

static void needs_landlock(void)
{
    if (programs.wall.landlock == 0)
        skip();
}

static bool can_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool read_outside(void)
{
    char path[DSQL_LOCAL_PATH_MAX];
    path_in(&path, "readable");
    return can_open(path, O_RDONLY);
}

static bool write_outside(void)
{
    char path[DSQL_LOCAL_PATH_MAX];
    path_in(&path, "written");
    return can_open(path, O_WRONLY | O_CREAT);
}

static bool cut_outside(void)
{
    char path[DSQL_LOCAL_PATH_MAX];
    path_in(&path, "written");
    return truncate(path, 0) == 0;
}

static bool list_root(void)
{
    return can_open("/", O_RDONLY | O_DIRECTORY);
}

static bool read_passwd(void)
{
    return can_open("/etc/passwd", O_RDONLY);
}

static bool read_parent(void)
{
    return can_open("/proc/self/status", O_RDONLY);
}

static bool run_shell(void)
{
    static char name[] = "sh", option[] = "-c", text[] = "exit 0";
    char *const argv[] = {name, option, text, NULL};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execv("/bin/sh", argv);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool has_socket(int domain, int type)
{
    int fd = socket(domain, type | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool use_tcp(void)
{
    return has_socket(AF_INET, SOCK_STREAM);
}

static bool use_udp(void)
{
    return has_socket(AF_INET, SOCK_DGRAM);
}

/* To a name that only we know: refused because nobody listens, or kept back. */
static bool connect_unix(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/nobody-listens-here"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool tried = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
                 errno == ENOENT;
    if (fd >= 0)
        close(fd);
    return tried;
}

static bool listen_unix(void)
{
    return has_socket(AF_UNIX, SOCK_STREAM);
}

static bool signal_neighbour(void)
{
    return kill(neighbour, 0) == 0;
}

static bool keep_data(void)
{
    int dir = openat(folder.dir, "pg", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, "written", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, "x", 1) == 1 && ftruncate(fd, 0) == 0 &&
              renameat(dir, "written", dir, "renamed") == 0 && unlinkat(dir, "renamed", 0) == 0;
    return close(fd) == 0 && close(dir) == 0 && ok;
}

static bool use_null(void)
{
    return can_open("/dev/null", O_RDWR);
}

/* In a child that is what PostgreSQL would be. */
static bool tried(bool (*what)(void), bool wall, enum dsql_kernel_wall_kind kind)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = dsql_local_user_become(&folder.user);
        if (ok && wall)
            ok = dsql_kernel_wall_enter(&programs.wall, kind, &folder, programs.bin);
        _exit(ok ? what() : 2);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 2);
    return WEXITSTATUS(status) == 1;
}

TEST(the_server_is_kept_from_the_machine)
{
    static const struct {
        const char *name;
        bool (*what)(void);
        bool allowed;
        int landlock; /* from which version */
    } rows[] = {
        {"read_outside", read_outside, false, 1},
        {"write_outside", write_outside, false, 1},
        {"cut_outside", cut_outside, false, 3},
        {"list_root", list_root, false, 1},
        {"read_passwd", read_passwd, false, 1},
        {"read_parent", read_parent, false, 1},
        {"run_shell", run_shell, false, 1},
        {"use_tcp", use_tcp, false, 1},
        {"use_udp", use_udp, false, 1},
        {"connect_unix", connect_unix, false, 1},
        {"signal_neighbour", signal_neighbour, false, 6},
        {"listen_unix", listen_unix, true, 1},
        {"keep_data", keep_data, true, 1},
        {"use_null", use_null, true, 1},
    };
    needs_landlock();
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].name);
        if (programs.wall.landlock < rows[i].landlock)
            continue;
        assert_true(tried(rows[i].what, false, DSQL_KERNEL_WALL_SERVER));
        assert_int_equal(tried(rows[i].what, true, DSQL_KERNEL_WALL_SERVER), rows[i].allowed);
    }
}

TEST(initdb_runs_programs_and_writes_nowhere_else)
{
    needs_landlock();
    assert_true(tried(run_shell, true, DSQL_KERNEL_WALL_INITDB));
    assert_true(tried(keep_data, true, DSQL_KERNEL_WALL_INITDB));
    assert_false(tried(write_outside, true, DSQL_KERNEL_WALL_INITDB));
    assert_false(tried(read_outside, true, DSQL_KERNEL_WALL_INITDB));
    assert_false(tried(use_tcp, true, DSQL_KERNEL_WALL_INITDB));
}

/* Whether the superuser's statement goes through, with nothing of ours inside PostgreSQL. */
static bool superuser_may(const char *sql, bool wall)
{
    char data[DSQL_LOCAL_PATH_MAX], text[512];
    struct dsql_programs without = programs;
    struct dsql_err err;
    dsql_folder_path(&folder, "pg", &data);
    const char *const args[] = {"postgres", "--single",
                                "-D",       data,
                                "-c",       "exit_on_error=on",
                                "-c",       "dynamic_shared_memory_type=mmap",
                                "postgres", NULL};
    without.wall.off = !wall;
    (void)snprintf(text, sizeof(text), "%s\n", sql);
    return !dsql_program_run(&without, DSQL_KERNEL_WALL_SINGLE, args, text, &err);
}

TEST(not_even_a_superuser_of_postgresql_gets_out)
{
    static const struct {
        const char *before, *after; /* of the path outside */
    } hostile[] = {
        /* A program that does not read what it is given makes COPY fail now and then. */
        {"copy (select 1) to program 'cat >/dev/null; id >", "/written'"},
        {"copy (select 1) to program 'cat >/dev/null; : ", "'"},
        {"copy (select 'x') to '", "/written'"},
        {"create temp table t (x text); copy t from '", "/readable'"},
        {"select pg_read_file('", "/readable')"},
        {"select pg_ls_dir('", "')"},
        {"select lo_import('", "/readable')"},
        {"select lo_create(4711); select lo_export(4711, '", "/written'); select lo_unlink(4711)"},
        {"create temp table t (x text); copy t from program 'cat ", "/readable'"},
    };
    static const char *const harmless[] = {
        "create table t (x int); insert into t select generate_series(1, 1000); drop table t",
        "set timezone = 'Europe/Berlin'; select now()",
        "copy (select 1) to '/dev/null'",
        "create extension pg_trgm; drop extension pg_trgm",
    };
    char path[DSQL_LOCAL_PATH_MAX], data[DSQL_LOCAL_PATH_MAX], sql[512];
    struct dsql_err err = {.message = ""};
    needs_landlock();
    dsql_folder_path(&folder, "pg", &data);
    path_in(&path, "written");
    const char *const make[] = {"initdb", "-D", data, "--no-sync", "--locale=C", NULL};
    if (dsql_program_run(&programs, DSQL_KERNEL_WALL_INITDB, make, "", &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < DSQL_COUNT_OF(hostile); i++) {
        (void)snprintf(sql, sizeof(sql), "%s%s%s", hostile[i].before, outside, hostile[i].after);
        print_message("%s\n", sql);
        (void)unlink(path);
        assert_true(superuser_may(sql, false));
        (void)unlink(path);
        assert_false(superuser_may(sql, true));
        assert_int_not_equal(access(path, F_OK), 0);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(harmless); i++) {
        print_message("%s\n", harmless[i]);
        assert_true(superuser_may(harmless[i], true));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_is_kept_from_the_machine),
        cmocka_unit_test(initdb_runs_programs_and_writes_nowhere_else),
        cmocka_unit_test(not_even_a_superuser_of_postgresql_gets_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
