#include "pool/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/thread.h"
#include "dsql/version.h"

#define FLUSH_NS (200 * DSQL_MS)
#define NOWHERE  SIZE_MAX

struct dsql_trace {
    const struct dsql_clock *clock;
    pthread_mutex_t *lock;
    pthread_cond_t wake; /* of the writer */
    pthread_t thread;
    int fd;
    size_t segment_size;

    /* The lock's. */
    uint8_t *filling;  /* segment_size bytes */
    size_t len;        /* of them, filled */
    size_t segment_at; /* where in them a segment begins; NOWHERE: none does */
    size_t used;       /* bytes of the segment so far, headers included */
    bool gap;          /* nothing is recorded until a segment begins */
    bool stopping, failed;

    /* The writer's. */
    uint8_t *writing;  /* as `filling`, with room for a header before and after */
    uint64_t segments; /* begun so far */
    uint32_t index;    /* of the next chunk */
    uint64_t written;  /* bytes of the segment */
    int error_number;  /* why it can't be written; 0: it can */
};

/* -- The recorder; with the lock held. */

static void begin_segment(struct dsql_trace *t, const struct dsql_keeper *keeper)
{
    struct dsql_trace_opening opening = {
        .wall = dsql_clock_wall(t->clock),
        .now = keeper->now,
        .follows = !t->gap,
    };
    (void)snprintf(opening.version, sizeof(opening.version), "%s", dsql_version());
    struct dsql_codec codec = dsql_codec_writer(t->filling + t->len, t->segment_size - t->len);
    dsql_codec_opening(&codec, &opening);
    dsql_trace_put_snapshot(&codec, keeper);
    /* One beginning in a buffer: the next has to wait until the writer has come. */
    t->gap = codec.failed || t->segment_at != NOWHERE || t->failed;
    if (t->gap)
        return;
    t->segment_at = t->len;
    t->len = t->segment_size - dsql_codec_left(&codec);
    t->used = t->len - t->segment_at;
}

/* Whether so many bytes more have room in the segment, with the headers of this chunk and of one
 * before, and the zeros at the end. Counts them. */
static bool fits(struct dsql_trace *t, size_t len)
{
    t->used += len;
    return t->used <= t->segment_size - (size_t)3 * DSQL_TRACE_HEADER;
}

static void add(struct dsql_trace *t, struct dsql_keeper_call call, struct dsql_keeper_reply reply)
{
    struct dsql_codec codec = dsql_codec_writer(t->filling + t->len, t->segment_size - t->len);
    dsql_codec_call(&codec, &call);
    dsql_codec_reply(&codec, call.kind, &reply);
    size_t len = t->segment_size - dsql_codec_left(&codec);
    t->gap = codec.failed || !fits(t, len - t->len);
    if (!t->gap)
        t->len = len;
    if (t->len > t->segment_size / 4)
        pthread_cond_signal(&t->wake);
}

void dsql_trace_call(struct dsql_trace *t, struct dsql_keeper *keeper,
                     const struct dsql_keeper_call *call, struct dsql_keeper_reply *reply)
{
    if (t && call->kind == DSQL_KEEPER_CALL_TURN && (t->gap || t->used > t->segment_size / 2))
        begin_segment(t, keeper);
    dsql_keeper_call(keeper, call, reply);
    if (t && !t->gap)
        add(t, *call, *reply);
}

/* -- The writer. */

static void put(struct dsql_trace *t, uint8_t *bytes, size_t len)
{
    if (len == 0 || t->error_number)
        return;
    const struct dsql_trace_chunk chunk = {
        .segment = t->segments - 1,
        .index = t->index++,
        .len = (uint32_t)len,
        .segment_size = t->segment_size,
    };
    /* What stands before the bytes is written already, and what follows them is still needed. */
    uint8_t after[DSQL_TRACE_HEADER];
    memcpy(after, bytes + len, sizeof(after));
    dsql_trace_put_chunk(bytes - DSQL_TRACE_HEADER, &chunk, bytes);
    memset(bytes + len, 0, sizeof(after));
    uint64_t at = chunk.segment % DSQL_TRACE_SEGMENTS * t->segment_size + t->written;
    size_t all = len + (size_t)2 * DSQL_TRACE_HEADER;
    ssize_t done;
    do {
        done = pwrite(t->fd, bytes - DSQL_TRACE_HEADER, all, (off_t)at);
    } while (done < 0 && errno == EINTR);
    if (done != (ssize_t)all)
        t->error_number = done < 0 ? errno : ENOSPC;
    memcpy(bytes + len, after, sizeof(after));
    t->written += len + DSQL_TRACE_HEADER;
}

static void write_out(struct dsql_trace *t, size_t len, size_t segment_at)
{
    uint8_t *bytes = t->writing + DSQL_TRACE_HEADER;
    size_t before = segment_at < len ? segment_at : len;
    put(t, bytes, before);
    if (segment_at == NOWHERE)
        return;
    t->segments++;
    t->index = 0;
    t->written = 0;
    put(t, bytes + before, len - before);
}

/* With the lock held, which is given up meanwhile. */
static void flush(struct dsql_trace *t)
{
    size_t len = t->len, segment_at = t->segment_at;
    uint8_t *swap = t->writing;
    if (len == 0)
        return;
    t->writing = t->filling - DSQL_TRACE_HEADER;
    t->filling = swap + DSQL_TRACE_HEADER;
    t->len = 0;
    t->segment_at = NOWHERE;
    t->used += DSQL_TRACE_HEADER;
    dsql_unlock(t->lock);
    write_out(t, len, segment_at);
    bool news = t->error_number && !t->failed;
    if (news)
        dsql_log(dsql_log_default(), DSQL_EVENT_POOL_TRACE_FAILED,
                 DSQL_F("detail", strerror(t->error_number)));
    dsql_lock(t->lock);
    if (t->error_number)
        t->failed = t->gap = true;
}

static void *run(void *arg)
{
    struct dsql_trace *t = arg;
    (void)pthread_setname_np(pthread_self(), "dsql-trace");
    dsql_lock(t->lock);
    while (!t->stopping) {
        struct dsql_mono until = dsql_mono_add(dsql_clock_mono(t->clock), FLUSH_NS);
        (void)dsql_clock_wait(t->clock, &t->wake, t->lock, until);
        flush(t);
    }
    flush(t); /* what came during the last one */
    dsql_unlock(t->lock);
    return NULL;
}

/* -- The file. */

static enum dsql_rc refuse(struct dsql_err *err, const char *path, const char *why)
{
    return dsql_err_set(err, DSQL_IO, "can't record to %s: %s", dsql_shown_str(path).text, why);
}

/* What is there, if anything, gets out of the way. */
static enum dsql_rc put_aside(const char *path, struct dsql_err *err)
{
    char aside[300];
    struct stat st;
    (void)snprintf(aside, sizeof(aside), "%s.old", path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT
                   ? DSQL_OK
                   : refuse(err, path, errno == ELOOP ? "it is a link" : strerror(errno));
    const char *why = NULL;
    if (fstat(fd, &st) != 0)
        why = strerror(errno);
    else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        why = "it is no file of this user's";
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        why = "another process records to it at this moment";
    else if (rename(path, aside) != 0)
        why = strerror(errno);
    (void)close(fd);
    return why ? refuse(err, path, why) : DSQL_OK;
}

static enum dsql_rc make_file(const char *path, int *fd, struct dsql_err *err)
{
    enum dsql_rc rc = put_aside(path, err);
    if (rc)
        return rc;
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (*fd < 0)
        return refuse(err, path, strerror(errno));
    (void)flock(*fd,
                LOCK_EX | LOCK_NB); /* a file system without locks: two recorders may share it */
    return DSQL_OK;
}

static void destroy(struct dsql_trace *t)
{
    if (t->fd >= 0)
        (void)close(t->fd);
    if (t->filling)
        free(t->filling - DSQL_TRACE_HEADER);
    free(t->writing);
    pthread_cond_destroy(&t->wake);
    free(t);
}

static enum dsql_rc start(struct dsql_trace *t, struct dsql_err *err)
{
    int failed = dsql_thread_start(&t->thread, 0, run, t);
    return failed ? dsql_err_set(err, DSQL_IO, "can't start the recorder: %s", strerror(failed))
                  : DSQL_OK;
}

enum dsql_rc dsql_trace_open(const char *path, uint32_t max_open, const struct dsql_clock *clock,
                             pthread_mutex_t *lock, struct dsql_trace **trace, struct dsql_err *err)
{
    struct dsql_trace *t = calloc(1, sizeof(*t));
    if (!t)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory to record");
    dsql_clock_cond_init(&t->wake);
    t->clock = clock;
    t->lock = lock;
    t->fd = -1;
    t->gap = true;
    t->segment_at = NOWHERE;
    t->segment_size = dsql_trace_segment_size(max_open);
    uint8_t *filling = malloc(t->segment_size + (size_t)2 * DSQL_TRACE_HEADER);
    t->filling = filling ? filling + DSQL_TRACE_HEADER : NULL;
    t->writing = malloc(t->segment_size + (size_t)2 * DSQL_TRACE_HEADER);
    enum dsql_rc rc = t->filling && t->writing
                          ? make_file(path, &t->fd, err)
                          : dsql_err_set(err, DSQL_NO_MEMORY, "no memory to record");
    if (!rc)
        rc = start(t, err);
    if (rc)
        destroy(t);
    else
        *trace = t;
    return rc;
}

static void put_end(struct dsql_trace *t, const struct dsql_keeper *keeper)
{
    struct dsql_codec codec = dsql_codec_writer(t->filling + t->len, t->segment_size - t->len);
    dsql_codec_put_end(&codec);
    dsql_trace_put_snapshot(&codec, keeper);
    size_t len = t->segment_size - dsql_codec_left(&codec);
    if (!codec.failed && fits(t, len - t->len))
        t->len = len;
}

void dsql_trace_close(struct dsql_trace *t, const struct dsql_keeper *keeper)
{
    if (!t)
        return;
    dsql_lock(t->lock);
    t->stopping = true;
    if (!t->gap)
        put_end(t, keeper);
    pthread_cond_signal(&t->wake);
    dsql_unlock(t->lock);
    (void)pthread_join(t->thread, NULL);
    destroy(t);
}
