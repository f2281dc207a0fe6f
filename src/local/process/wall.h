/*
 * The wall around the private PostgreSQL: what the kernel keeps its processes from, whatever SQL
 * they were made to run and as which role. The wall stands behind the rules of the module
 * inside PostgreSQL and does not know them.
 *
 * 1. No process behind it gains privileges (no_new_privs).
 * 2. Files (Landlock): written are those of pg/ and run/, and /dev/null; read are PostgreSQL's own,
 *    shared libraries, locales and time zones; executed are PostgreSQL and the dynamic loader.
 * 3. Network: sockets are Unix sockets (seccomp), and the server connects to none. TCP, abstract
 *    Unix sockets and signals to processes outside are kept back by Landlock too, where it knows
 *    them.
 *
 * initdb runs other programs, a shell among them: for it, the programs and settings of the system
 * can be read and executed. It runs before anybody has sent any SQL.
 *
 * A kernel without Landlock (or with one that knows less) keeps what it can.
 */
#ifndef DSQL_LOCAL_WALL_H
#define DSQL_LOCAL_WALL_H

#include "base/strbuf.h"
#include "local/process/folder.h"

enum dsql_kernel_wall_kind {
    DSQL_KERNEL_WALL_INITDB,
    DSQL_KERNEL_WALL_SINGLE, /* postgres --single, which asks for the name of its user */
    DSQL_KERNEL_WALL_SERVER,
};

struct dsql_kernel_wall {
    bool off;     /* it was not wanted */
    int landlock; /* version of Landlock's interface; 0: the kernel has none */
    bool seccomp; /* whether a filter can be had */
};

/* What this kernel can do. */
struct dsql_kernel_wall dsql_kernel_wall_find(bool off);

/* "landlock 7, seccomp" or "off" or "none". */
void dsql_kernel_wall_describe(const struct dsql_kernel_wall *wall, struct dsql_strbuf *out);

/* In a child process, just before its execve(): for good. bin: PostgreSQL's programs. false, and
 * errno, if it can't be put up. */
DSQL_MUST_USE bool dsql_kernel_wall_enter(const struct dsql_kernel_wall *wall,
                                          enum dsql_kernel_wall_kind kind,
                                          const struct dsql_folder *folder, const char *bin);

#endif
