/*
 * The control socket: a Unix socket in the endpoint's folder, for its owner only. One question, one
 * line, one answer, then the connection ends:
 *
 *     faults                    which are in force
 *     fault NAME=VALUE ...      puts them in force, or does them
 *     clear [NAME ...]          ends those, or all
 *     counts                    what the endpoint saw, one name=value a line
 *     admissions                when the last connections were let in, in nanoseconds of the
 *                               service's clock, oldest first, one a line
 *     env                       what a client needs, as NAME=value lines with a fresh token
 *
 * The answer begins with a line "ok" or "error", behind which the message stands.
 */
#ifndef DSQL_LOCAL_CONTROL_H
#define DSQL_LOCAL_CONTROL_H

#include "local/front/front.h"

enum {
    DSQL_CONTROL_REQUEST_MAX = 4096,
    DSQL_CONTROL_ANSWER_MAX = 1 << 20,
};

struct dsql_control {
    struct dsql_front *front;
    struct dsql_watch listener;
    struct dsql_timer rest; /* runs while the listener is not watched: descriptors are short */
    struct dsql_control_peer *peers;
    /* Fills in what `env` asks for. */
    enum dsql_rc (*env)(void *arg, struct dsql_strbuf *out, struct dsql_err *err);
    void *arg;
    char path[DSQL_LOCAL_PATH_MAX];
};

/* Listens at path; one that a killed endpoint left behind is replaced. */
DSQL_MUST_USE enum dsql_rc dsql_control_open(struct dsql_control *control, const char *path,
                                             struct dsql_err *err);
/* Before the front ends. */
void dsql_control_close(struct dsql_control *control);

/* The answer to one question, without its first line's "ok"; what can't be done is the error. Pure
 * but for what the question asks to do. */
DSQL_MUST_USE enum dsql_rc dsql_control_answer(struct dsql_control *control,
                                               struct dsql_span question, struct dsql_strbuf *out,
                                               struct dsql_err *err);

/* The other side: asks the endpoint at path and waits for the answer. */
DSQL_MUST_USE enum dsql_rc dsql_control_ask(const char *path, struct dsql_span question,
                                            struct dsql_strbuf *answer, struct dsql_err *err);

#endif
