#include "local/process/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "local/process/module_file.h"

/*
 * Landlock's interface, of which the kernel headers of Debian 12 know version 2: what is here is
 * all that is used, under names of our own.
 */
#define RIGHT_EXECUTE     (UINT64_C(1) << 0)
#define RIGHT_WRITE_FILE  (UINT64_C(1) << 1)
#define RIGHT_READ_FILE   (UINT64_C(1) << 2)
#define RIGHT_READ_DIR    (UINT64_C(1) << 3)
#define RIGHT_REMOVE_DIR  (UINT64_C(1) << 4)
#define RIGHT_REMOVE_FILE (UINT64_C(1) << 5)
#define RIGHT_MAKE_DIR    (UINT64_C(1) << 7)
#define RIGHT_MAKE_REG    (UINT64_C(1) << 8)
#define RIGHT_MAKE_SOCK   (UINT64_C(1) << 9)
#define RIGHT_REFER       (UINT64_C(1) << 13) /* from version 2 */
#define RIGHT_TRUNCATE    (UINT64_C(1) << 14) /* 3 */
#define RIGHT_IOCTL_DEV   (UINT64_C(1) << 15) /* 5 */
#define RIGHTS_1          ((UINT64_C(1) << 13) - 1)
#define NET_ALL           UINT64_C(3) /* TCP bind and connect; from version 4 */
#define SCOPE_ALL         UINT64_C(3) /* abstract Unix sockets and signals; from version 6 */

#define READ       (RIGHT_READ_FILE | RIGHT_READ_DIR)
#define RUN        (READ | RIGHT_EXECUTE)
#define WRITE      (RIGHT_WRITE_FILE | RIGHT_TRUNCATE)
#define KEEP       (READ | WRITE | RIGHT_MAKE_REG | RIGHT_REMOVE_FILE)
#define KEEP_TREE  (KEEP | RIGHT_MAKE_DIR | RIGHT_REMOVE_DIR | RIGHT_REFER)
#define FILE_ONLY  (RIGHT_EXECUTE | WRITE | RIGHT_READ_FILE | RIGHT_IOCTL_DEV)
#define VERSION_OF 1u /* landlock_create_ruleset(): asks for the version */
#define BENEATH    1  /* landlock_add_rule(): a path and all beneath it */

struct ruleset {
    uint64_t files, net, scopes;
};

struct beneath {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

static int make_ruleset(const struct ruleset *ruleset, size_t size, uint32_t flags)
{
    return (int)syscall(SYS_landlock_create_ruleset, ruleset, size, flags);
}

/* Which kinds a row is for. */
#define INITDB (1u << DSQL_KERNEL_WALL_INITDB)
#define NAMES  (INITDB | 1u << DSQL_KERNEL_WALL_SINGLE) /* those who ask for their user's name */
#define ALL    (NAMES | 1u << DSQL_KERNEL_WALL_SERVER)

/* What PostgreSQL reads besides its own: paths that a system lacks are passed over. */
/* clang-format off */
static const struct {
    const char *path;
    uint64_t rights;
    unsigned kinds;
} rows[] = {
    {"/dev/null", RIGHT_READ_FILE | WRITE, ALL},
    {"/dev/zero", READ, ALL},
    {"/dev/urandom", READ, ALL},
    {"/dev/random", READ, ALL},
    {"/usr/lib", READ, ALL},
    {"/usr/lib64", READ, ALL},
    {"/usr/local/lib", READ, ALL},
    {"/lib", READ, ALL},
    {"/lib64", READ, ALL},
    {"/etc/ld.so.cache", READ, ALL},
    {"/etc/ld.so.preload", READ, ALL},
    {"/etc/localtime", READ, ALL},
    {"/etc/ssl/openssl.cnf", READ, ALL},
    {"/etc/pki/tls/openssl.cnf", READ, ALL},
    {"/usr/share/locale", READ, ALL},
    {"/usr/share/zoneinfo", READ, ALL},
    {"/usr/share/postgresql", READ, ALL},
    {"/usr/share/pgsql", READ, ALL},
    {"/proc/meminfo", READ, ALL},
    {"/sys/kernel/mm/hugepages", READ, ALL},
    /* One of these is what the kernel itself runs to run PostgreSQL. */
    {"/lib64/ld-linux-x86-64.so.2", RUN, ALL},
    {"/lib64/ld64.so.2", RUN, ALL},
    {"/lib/ld-linux-aarch64.so.1", RUN, ALL},
    {"/lib/ld-linux-armhf.so.3", RUN, ALL},
    {"/lib/ld-linux-riscv64-lp64d.so.1", RUN, ALL},
    {"/lib/ld-musl-x86_64.so.1", RUN, ALL},
    {"/lib/ld-musl-aarch64.so.1", RUN, ALL},
    {"/etc/passwd", READ, NAMES},
    {"/etc/nsswitch.conf", READ, NAMES},
    {"/bin", RUN, INITDB},
    {"/usr", RUN, INITDB},
    {"/lib", RUN, INITDB},
    {"/lib64", RUN, INITDB},
    {"/etc", READ, INITDB},
    {"/proc", READ, INITDB},
    {"/sys/kernel/mm", READ, INITDB},
    {"/dev/shm", KEEP_TREE, INITDB},
};
/* clang-format on */

struct wall_rules {
    int ruleset;
    uint64_t known; /* rights that this kernel knows */
    bool ok;
};

/* Allows something; what is not there needs no permission. dir: what a relative path is in. */
static void allow(struct wall_rules *rules, int dir, const char *path, uint64_t rights)
{
    int fd = openat(dir, path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    bool file = fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
    const struct beneath rule = {rights & rules->known & (file ? FILE_ONLY : UINT64_MAX), fd};
    if (rule.rights != 0 && syscall(SYS_landlock_add_rule, rules->ruleset, BENEATH, &rule, 0u) != 0)
        rules->ok = false;
    close(fd);
}

static void allow_in(struct wall_rules *rules, const char *folder, const char *name,
                     uint64_t rights)
{
    char path[2 * DSQL_LOCAL_PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len > 0 && (size_t)len < sizeof(path))
        allow(rules, AT_FDCWD, path, rights);
}

static void allow_all(struct wall_rules *rules, enum dsql_kernel_wall_kind kind,
                      const struct dsql_folder *folder, const char *bin)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        if (rows[i].kinds & 1u << kind)
            allow(rules, AT_FDCWD, rows[i].path, rows[i].rights);
    allow_in(rules, bin, kind == DSQL_KERNEL_WALL_INITDB ? "." : "postgres", RUN);
    allow_in(rules, bin, "../lib", READ);
    allow_in(rules, bin, "../lib64", READ);
    allow_in(rules, bin, "../share", READ);
    allow(rules, folder->dir, "pg", KEEP_TREE);
    allow(rules, folder->dir, "run", KEEP | RIGHT_MAKE_SOCK);
    allow(rules, folder->dir, DSQL_MODULE_NAME ".so", RIGHT_READ_FILE);
}

static bool enter_landlock(int version, enum dsql_kernel_wall_kind kind,
                           const struct dsql_folder *folder, const char *bin)
{
    struct ruleset ruleset = {.files = RIGHTS_1};
    if (version >= 2)
        ruleset.files |= RIGHT_REFER;
    if (version >= 3)
        ruleset.files |= RIGHT_TRUNCATE;
    if (version >= 5)
        ruleset.files |= RIGHT_IOCTL_DEV;
    ruleset.net = version >= 4 ? NET_ALL : 0;
    ruleset.scopes = version >= 6 ? SCOPE_ALL : 0;
    /* A kernel that does not know a field takes it as long as it is zero. */
    struct wall_rules rules = {
        .ruleset = make_ruleset(&ruleset, sizeof(ruleset), 0), .known = ruleset.files, .ok = true};
    if (rules.ruleset < 0)
        return false;
    allow_all(&rules, kind, folder, bin);
    bool ok = rules.ok && syscall(SYS_landlock_restrict_self, rules.ruleset, 0u) == 0;
    close(rules.ruleset);
    return ok;
}

#if defined(__x86_64__)
#define OUR_ARCH  AUDIT_ARCH_X86_64
#define CALL_MOST 0x3fffffffu /* above are those of x32 */
#elif defined(__aarch64__)
#define OUR_ARCH  AUDIT_ARCH_AARCH64
#define CALL_MOST 0x7fffffffu
#endif

#ifdef OUR_ARCH
#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define ANSWER(action)     BPF_STMT(BPF_RET | BPF_K, (uint32_t)(action))

/* No sockets but Unix sockets, no io_uring (which could make others), no calls in other forms, and
 * for the server no way to connect. Both architectures are little-endian: the low half of an
 * argument is its first. */
static bool enter_seccomp(enum dsql_kernel_wall_kind kind)
{
    /* What the server may not do; the same number twice for the others. */
    const uint32_t no_connect = kind == DSQL_KERNEL_WALL_SERVER ? SYS_connect : SYS_io_uring_setup;
    struct sock_filter code[] = {
        LOAD(arch),
        IS(OUR_ARCH, 0, 7),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, CALL_MOST, 5, 0),
        IS(SYS_io_uring_setup, 4, 0),
        IS(no_connect, 4, 0),
        IS(SYS_socket, 0, 4),
        LOAD(args[0]),
        IS(AF_UNIX, 2, 1),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
        ANSWER(SECCOMP_RET_ERRNO | EACCES),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = DSQL_COUNT_OF(code), .filter = code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool has_seccomp(void)
{
    /* Without a program it fails with EFAULT where it is known, with EINVAL where it is not. */
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0 && errno == EFAULT;
}
#else
static bool enter_seccomp(enum dsql_kernel_wall_kind kind)
{
    (void)kind;
    return true;
}

static bool has_seccomp(void)
{
    return false;
}
#endif

struct dsql_kernel_wall dsql_kernel_wall_find(bool off)
{
    int version = off ? 0 : make_ruleset(NULL, 0, VERSION_OF);
    return (struct dsql_kernel_wall){
        .off = off, .landlock = version > 0 ? version : 0, .seccomp = !off && has_seccomp()};
}

void dsql_kernel_wall_describe(const struct dsql_kernel_wall *wall, struct dsql_strbuf *out)
{
    if (wall->off)
        dsql_strbuf_add_str(out, "off");
    else if (wall->landlock == 0)
        dsql_strbuf_add_str(out, wall->seccomp ? "seccomp" : "none");
    else
        dsql_strbuf_addf(out, "landlock %d%s", wall->landlock, wall->seccomp ? ", seccomp" : "");
}

bool dsql_kernel_wall_enter(const struct dsql_kernel_wall *wall, enum dsql_kernel_wall_kind kind,
                            const struct dsql_folder *folder, const char *bin)
{
    return wall->off ||
           (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            (wall->landlock == 0 || enter_landlock(wall->landlock, kind, folder, bin)) &&
            (!wall->seccomp || enter_seccomp(kind)));
}
