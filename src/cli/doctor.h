/* Between the files of `dsql doctor`: the patient, and how a finding is said. */
#ifndef DSQL_CLI_DOCTOR_H
#define DSQL_CLI_DOCTOR_H

#include "aws/endpoint.h"
#include "cli/command.h"
#include "config/config.h"
#include "dsql/credentials.h"

enum dsql_doctor_state { DSQL_DOCTOR_OK, DSQL_DOCTOR_WARN, DSQL_DOCTOR_FAIL, DSQL_DOCTOR_SKIP };

enum { DSQL_DOCTOR_STATES = DSQL_DOCTOR_SKIP + 1, DSQL_DOCTOR_TEXT_MAX = 640 };

struct dsql_doctor {
    bool json;
    int64_t timeout_ns; /* for each step that asks somebody */
    size_t count[DSQL_DOCTOR_STATES];

    struct dsql_config config;
    struct dsql_config_report report;
    const char *ca_file; /* NULL: the system's roots */

    bool has_endpoint; /* the following two are known */
    struct dsql_endpoint endpoint;
    unsigned port;
    char hostaddr[64]; /* the address that answered, or empty */
    bool reachable;    /* and speaks TLS that can be trusted */

    struct dsql_credentials *credentials; /* NULL if there are none */
    bool has_token;
};

/* One line: what was found and, unless todo is empty, what to do about it. */
void dsql_doctor_say(struct dsql_doctor *doctor, enum dsql_doctor_state state, const char *check,
                     const char *todo, const char *fmt, ...) DSQL_PRINTF(5, 6);

/* The checks, in their order. Each says at least one line. */
void dsql_doctor_settings(struct dsql_doctor *doctor);
void dsql_doctor_limits(struct dsql_doctor *doctor);
void dsql_doctor_endpoint(struct dsql_doctor *doctor);
void dsql_doctor_network(struct dsql_doctor *doctor); /* dns and tls */
void dsql_doctor_login(struct dsql_doctor *doctor);   /* credentials, token, connect, clock */
void dsql_doctor_budget(struct dsql_doctor *doctor);  /* of a fleet */

#endif
