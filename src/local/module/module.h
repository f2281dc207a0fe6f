/*
 * The module inside the private PostgreSQL: Aurora DSQL's concurrency control, made of a table
 * access method over PostgreSQL's heap, and the walls that keep clients from the machine.
 *
 *     module.c      loading: settings, shared memory, hooks, callbacks
 *     table_am.c    the access method: no transaction meets a row that another has locked
 *     versions.c    what this transaction did to rows, remembered until COMMIT
 *     keys.c        the unique keys of the rows it wrote
 *     adjudicate.c  the log of what was committed, shared by all, and who conflicts with it
 *     commit.c      COMMIT: adjudication, then what was remembered is carried out
 *     sizes.c       the limits on rows and bytes
 *     catalog.c     changes of the catalogue, told to the front
 *     job.c         an index build or a validation that the service runs as a job
 *     box*.c        what clients can't reach, see box.h
 *     explain.c     what EXPLAIN says beyond PostgreSQL's plan
 *     gate.c        who may connect
 *     pg16.c        functions of PostgreSQL 16; json.c: what stands in for its SQL/JSON
 *
 * Words. A *version* is a tuple of the heap. A row's *identity* in a transaction is the version its
 * snapshot sees. An *effect* is what the matrix of conflicts is about: something done to a row's
 * identity, or to a unique key.
 *
 * How it works. An UPDATE inserts the new version and only remembers that the old one goes; DELETE
 * and row locks are only remembered. Until COMMIT all old versions are untouched in the heap: no
 * row is ever locked, so no transaction waits. What a transaction itself deleted is hidden from it
 * by the access method. At COMMIT its effects are compared with those of all transactions that
 * committed since its snapshot. A transaction that conflicts fails; the effects of any other are
 * logged and its deletes carried out.
 *
 * This is compiled against PostgreSQL's headers and follows its rules: errors are thrown with
 * ereport(), memory belongs to contexts, a backend is single-threaded.
 */
#ifndef DSQL_LOCAL_MODULE_H
#define DSQL_LOCAL_MODULE_H

#include <postgres.h>

/* Settings, given by the front when it starts PostgreSQL. */
extern int dsql_row_limit;   /* rows a transaction may change */
extern int dsql_size_limit;  /* what it may write, in MiB */
extern int dsql_log_entries; /* room in the shared log */

/* Whether DDL is running: it has real locks and sees what is committed, as in plain PostgreSQL. */
bool dsql_in_ddl(void);

/* Called once, in the postmaster, when the module is loaded. */
void dsql_commit_init(void);   /* watches the ends of transactions */
void dsql_table_am_init(void); /* makes the access method out of PostgreSQL's heap */
void dsql_gate_init(void);     /* reads the secrets of this run: only the endpoint may connect */

#endif
