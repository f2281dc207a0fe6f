/* Between the files of `dsql doctor`: the patient, and how a finding is said. */
#ifndef DSQL_CLI_DOCTOR_H
#define DSQL_CLI_DOCTOR_H

#include "aws/endpoint.h"
#include "cli/command.h"
#include "config/config.h"
#include "dsql/credentials.h"

enum dsql_doctor_state { DSQL_DOCTOR_OK, DSQL_DOCTOR_WARN, DSQL_DOCTOR_FAIL, DSQL_DOCTOR_SKIP };

enum dsql_diagnosis {
#define DSQL_DIAGNOSIS(name, check, state, meaning, todo) DSQL_FOUND_##name,
#include "cli/doctor.def"
#undef DSQL_DIAGNOSIS
    DSQL_FOUND_COUNT
};

struct dsql_diagnosis_info {
    const char *check;
    enum dsql_doctor_state state;
    const char *meaning;
    const char *todo; /* may be empty */
};
extern const struct dsql_diagnosis_info dsql_diagnoses[DSQL_FOUND_COUNT];

/* "FAIL" for DSQL_DOCTOR_FAIL. Static storage. */
const char *dsql_doctor_state_name(enum dsql_doctor_state state);

enum { DSQL_DOCTOR_STATES = DSQL_DOCTOR_SKIP + 1, DSQL_DOCTOR_TEXT_MAX = 640 };

struct dsql_doctor {
    bool json;
    int64_t timeout_ns; /* for each step that asks a server */
    size_t count[DSQL_DOCTOR_STATES];

    struct dsql_config config;
    struct dsql_config_report report;
    const char *ca_file; /* NULL: the system's roots */

    bool has_endpoint; /* the following two are known */
    struct dsql_endpoint endpoint;
    unsigned port;
    char hostaddr[64]; /* the address that answered, or empty */
    bool reachable;    /* the endpoint answers, and with TLS that can be trusted */

    struct dsql_credentials *credentials; /* NULL if there are none */
    bool has_token;
};

/* One line: what was found, in this case, and what to do about it. */
void dsql_doctor_say(struct dsql_doctor *doctor, enum dsql_diagnosis finding, const char *fmt, ...)
    DSQL_PRINTF(3, 4);

/* One line about an error: its message, and its own hint if it has one. */
void dsql_doctor_say_error(struct dsql_doctor *doctor, enum dsql_diagnosis finding,
                           const struct dsql_err *err);

/* The checks, in their order. Each says at least one line. */
void dsql_doctor_settings(struct dsql_doctor *doctor);
void dsql_doctor_limits(struct dsql_doctor *doctor);
void dsql_doctor_endpoint(struct dsql_doctor *doctor);
void dsql_doctor_network(struct dsql_doctor *doctor); /* dns and tls */
void dsql_doctor_login(struct dsql_doctor *doctor);   /* credentials, token, connect, clock */
void dsql_doctor_budget(struct dsql_doctor *doctor);  /* of a fleet */

#endif
