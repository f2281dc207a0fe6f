#include "support/fake_pq.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"

enum { FAKES = 4096, HANDSHAKE = 3 };

struct pg_conn {
    bool used;
    int fd, server;
    unsigned polls;
    ConnStatusType status;
    _Atomic int transaction, callers;
    const char *error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pg_conn fakes[FAKES];
static size_t live;
static _Atomic size_t countdown, begun, shared, closed_under_caller;
static _Atomic bool failed, stalls;
static _Atomic(const char *) refusal;

void fake_pq_reset(void)
{
    assert(live == 0);
    atomic_store(&countdown, 0);
    atomic_store(&begun, 0);
    atomic_store(&shared, 0);
    atomic_store(&closed_under_caller, 0);
    atomic_store(&failed, false);
    atomic_store(&stalls, false);
    atomic_store(&refusal, NULL);
}

bool fake_pq_fail_at(size_t n)
{
    bool came = atomic_exchange(&failed, false);
    atomic_store(&countdown, n);
    return came;
}

static bool fails_now(void)
{
    size_t left = atomic_load(&countdown);
    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1))
        continue;
    if (left != 1)
        return false;
    atomic_store(&failed, true);
    return true;
}

void fake_pq_refuse(const char *text)
{
    atomic_store(&refusal, text);
}

void fake_pq_stall(bool stall)
{
    atomic_store(&stalls, stall);
}

size_t fake_pq_live(void)
{
    pthread_mutex_lock(&lock);
    size_t n = live;
    pthread_mutex_unlock(&lock);
    return n;
}

size_t fake_pq_begun(void)
{
    return atomic_load(&begun);
}

size_t fake_pq_drop(size_t every)
{
    size_t n = 0, dropped = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < FAKES; i++) {
        if (!fakes[i].used || fakes[i].server < 0 || n++ % every != 0)
            continue;
        (void)close(fakes[i].server);
        fakes[i].server = -1;
        dropped++;
    }
    pthread_mutex_unlock(&lock);
    return dropped;
}

void fake_pq_set_transaction(PGconn *pg, PGTransactionStatusType status)
{
    atomic_store(&pg->transaction, (int)status);
}

void fake_pq_hold(PGconn *pg)
{
    if (atomic_fetch_add(&pg->callers, 1) != 0 || !pg->used)
        atomic_fetch_add(&shared, 1);
}

void fake_pq_let_go(PGconn *pg)
{
    if (atomic_fetch_sub(&pg->callers, 1) != 1)
        atomic_fetch_add(&shared, 1);
}

size_t fake_pq_shared(void)
{
    return atomic_load(&shared);
}

size_t fake_pq_closed_under_caller(void)
{
    return atomic_load(&closed_under_caller);
}

void fake_pq_options(struct dsql_pool_options *o, int64_t n)
{
    (void)setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 1);
    dsql_pool_options_default(o);
    (void)snprintf(o->connection.endpoint, sizeof(o->connection.endpoint), "localhost");
    (void)snprintf(o->connection.hostaddr, sizeof(o->connection.hostaddr), "127.0.0.1");
    (void)snprintf(o->connection.region, sizeof(o->connection.region), "us-east-1");
    (void)snprintf(o->connection.ca_file, sizeof(o->connection.ca_file), "/dev/null");
    o->mode = DSQL_POOL_RESERVOIR;
    o->sizing.max_open = o->sizing.target_ready = o->sizing.low_watermark = n;
    o->budget.rate = 1000;
    o->budget.burst = 1000;
    o->budget.staggered_startup_ns = 0;
    o->sizing.initial_fill_timeout_ns = 10 * DSQL_M;
    o->drain_timeout_ns = 10 * DSQL_M;
}

/* -- libpq. */

PGconn *__wrap_PQconnectStartParams(const char *const *keywords, const char *const *values,
                                    int expand);
PostgresPollingStatusType __wrap_PQconnectPoll(PGconn *pg);
ConnStatusType __wrap_PQstatus(const PGconn *pg);
int __wrap_PQsocket(const PGconn *pg);
void __wrap_PQfinish(PGconn *pg);
PGVerbosity __wrap_PQsetErrorVerbosity(PGconn *pg, PGVerbosity verbosity);
PQnoticeProcessor __wrap_PQsetNoticeProcessor(PGconn *pg, PQnoticeProcessor fn, void *arg);
char *__wrap_PQerrorMessage(const PGconn *pg);
PGTransactionStatusType __wrap_PQtransactionStatus(const PGconn *pg);
PGpipelineStatus __wrap_PQpipelineStatus(const PGconn *pg);
int __wrap_PQisnonblocking(const PGconn *pg);
int __wrap_PQsetnonblocking(PGconn *pg, int on);
int __wrap_PQbackendPID(const PGconn *pg);
int __wrap_PQconsumeInput(PGconn *pg);
int __wrap_PQisBusy(PGconn *pg);

PGconn *__wrap_PQconnectStartParams(const char *const *keywords, const char *const *values,
                                    int expand)
{
    (void)keywords;
    (void)values;
    (void)expand;
    atomic_fetch_add(&begun, 1);
    if (fails_now())
        return NULL;
    int ends[2];
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < FAKES && fakes[i].used)
        i++;
    assert(i < FAKES);
    struct pg_conn *pg = &fakes[i];
    int no_pair = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    assert(!no_pair);
    (void)no_pair;
    *pg = (struct pg_conn){.used = true, .fd = ends[0], .server = ends[1], .error = ""};
    pg->status = fails_now() ? CONNECTION_BAD : CONNECTION_STARTED;
    live++;
    pthread_mutex_unlock(&lock);
    return pg;
}

PostgresPollingStatusType __wrap_PQconnectPoll(PGconn *pg)
{
    const char *text = atomic_load(&refusal);
    bool broken = fails_now();
    if (atomic_load(&stalls))
        return PGRES_POLLING_READING; /* and nobody writes */
    if (broken || (text && pg->polls == HANDSHAKE)) {
        pg->error = broken ? "server closed the connection unexpectedly\n" : text;
        pg->status = CONNECTION_BAD;
        return PGRES_POLLING_FAILED;
    }
    if (pg->polls++ < HANDSHAKE)
        return PGRES_POLLING_WRITING;
    pg->status = CONNECTION_OK;
    return PGRES_POLLING_OK;
}

ConnStatusType __wrap_PQstatus(const PGconn *pg)
{
    return pg->status;
}

int __wrap_PQsocket(const PGconn *pg)
{
    return pg->fd;
}

void __wrap_PQfinish(PGconn *pg)
{
    pthread_mutex_lock(&lock);
    assert(pg->used);
    if (atomic_load(&pg->callers) != 0)
        atomic_fetch_add(&closed_under_caller, 1);
    (void)close(pg->fd);
    if (pg->server >= 0)
        (void)close(pg->server);
    pg->used = false;
    live--;
    pthread_mutex_unlock(&lock);
}

PGVerbosity __wrap_PQsetErrorVerbosity(PGconn *pg, PGVerbosity verbosity)
{
    (void)pg;
    return verbosity;
}

PQnoticeProcessor __wrap_PQsetNoticeProcessor(PGconn *pg, PQnoticeProcessor fn, void *arg)
{
    (void)pg;
    (void)arg;
    return fn;
}

char *__wrap_PQerrorMessage(const PGconn *pg)
{
    return (char *)(uintptr_t)pg->error;
}

PGTransactionStatusType __wrap_PQtransactionStatus(const PGconn *pg)
{
    return fails_now() ? PQTRANS_UNKNOWN : (PGTransactionStatusType)atomic_load(&pg->transaction);
}

PGpipelineStatus __wrap_PQpipelineStatus(const PGconn *pg)
{
    (void)pg;
    return PQ_PIPELINE_OFF;
}

int __wrap_PQisnonblocking(const PGconn *pg)
{
    (void)pg;
    return 0;
}

int __wrap_PQsetnonblocking(PGconn *pg, int on)
{
    (void)pg;
    (void)on;
    return 0;
}

int __wrap_PQbackendPID(const PGconn *pg)
{
    return pg->fd;
}

int __wrap_PQconsumeInput(PGconn *pg)
{
    char byte;
    return !fails_now() && recv(pg->fd, &byte, 1, MSG_PEEK) != 0;
}

int __wrap_PQisBusy(PGconn *pg)
{
    (void)pg;
    return 0;
}
