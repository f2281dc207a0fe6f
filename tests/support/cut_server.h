/*
 * A server that speaks just enough of PostgreSQL's protocol for a transaction, and can end a
 * connection at any point of it: after so many messages of the client's were carried out, and so
 * many of the answers to them given. It knows what was applied, so that what a client makes of the
 * end can be compared with it.
 *
 * INSERT adds a row, BEGIN, COMMIT and ROLLBACK do what they do, a statement outside of a
 * transaction commits at its Sync, and anything whose text has `fails` in it is an error 22012.
 */
#ifndef DSQL_TESTS_CUT_SERVER_H
#define DSQL_TESTS_CUT_SERVER_H

#include <pthread.h>
#include <stdbool.h>

struct cut {
    int messages; /* that are carried out before the end; -1 for all */
    int answers;  /* of those that are given before the end; -1 for all */
    bool half;    /* of the next answer, too */
};

struct cut_server {
    pthread_t thread;
    int listener, port;
    bool ends;        /* atomic */
    struct cut first; /* of the first connection; the others have no end */
    const char *fails;
    /* To be read when no client is left. */
    int connections, applied, messages, answers; /* the last two of the first connection */
};

void cut_server_start(struct cut_server *server);
/* No client is left. */
void cut_server_join(struct cut_server *server);

#endif
