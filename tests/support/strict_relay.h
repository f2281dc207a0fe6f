/*
 * A peer that does one thing at a time: a relay on loopback which, while it hands an answer to the
 * client, reads nothing from it, as a PostgreSQL backend does. Its buffers are small.
 */
#ifndef DSQL_TESTS_STRICT_RELAY_H
#define DSQL_TESTS_STRICT_RELAY_H

#include <pthread.h>

struct strict_relay {
    pthread_t thread;
    int listener;
    int port;
    int to_port;
    int pause_us; /* before each piece that it hands on: a slow reader, and a slow writer */
};

/* Relays one connection to 127.0.0.1:to_port. pause_us is set before. */
void strict_relay_start(struct strict_relay *relay, int to_port);
/* The connection has been closed by its client. */
void strict_relay_join(struct strict_relay *relay);

#endif
