/*
 * A small AWS on the loopback address for tests of credentials: the instance's metadata service, a
 * container's endpoint and STS in one server, with a home folder for the two files. Nothing in it
 * ever leads to a real service. It allocates nothing.
 */
#ifndef DSQL_TESTS_AWS_WORLD_H
#define DSQL_TESTS_AWS_WORLD_H

#include "support/http_server.h"

/* What goes wrong, with requests whose target starts with broken_path. */
enum world_fault {
    WORLD_FINE,
    WORLD_STALLS,
    WORLD_HANGS_UP,
    WORLD_GARBAGE,   /* no HTTP */
    WORLD_NO_ANSWER, /* 200 and a body that is not of the right form */
    WORLD_HUGE,
    WORLD_403,
    WORLD_404,
    WORLD_500,
    WORLD_REFUSES, /* with the service's own words */
};

enum { WORLD_ENV_MAX = 16 };

struct aws_world {
    struct http_server server;
    char home[64];
    enum world_fault fault;
    const char *broken_path;
    int64_t expires_s;    /* of what it gives, since 1970; 2100 unless told */
    char log[1024];       /* what it was asked, in short, with a blank behind each */
    pthread_mutex_t lock; /* guards log */
    char env_text[WORLD_ENV_MAX][512];
    const char *env[WORLD_ENV_MAX + 1];
};

void aws_world_start(struct aws_world *world);
void aws_world_stop(struct aws_world *world);

/* Writes ~/.aws/NAME; NULL removes it. "{URL}" and "{HOME}" stand for the world's. */
void aws_world_file(struct aws_world *world, const char *name, const char *text);

/* The environment: lines separated by blanks, with the same words; HOME and the addresses of the
 * metadata service and STS come on top. */
void aws_world_environment(struct aws_world *world, const char *lines);

/* Copies what was asked since the last call. */
void aws_world_asked(struct aws_world *world, char *copy, size_t cap);

#endif
