/*
 * Round trips as libpq's trace of a connection shows them: how often the client stopped to speak
 * and the server began. It counts messages, not what the library under test says of itself.
 */
#ifndef DSQL_TESTS_WIRE_TRIPS_H
#define DSQL_TESTS_WIRE_TRIPS_H

struct pg_conn;

struct wire_trips {
    struct pg_conn *pg;
    char *text;
    unsigned long size;
    void *file;
};

/* Begins to listen. */
void wire_trips_begin(struct wire_trips *trips, struct pg_conn *pg);
/* Ends it. *syncs (may be NULL): how many Syncs the client sent. */
unsigned wire_trips_end(struct wire_trips *trips, unsigned *syncs);

#endif
