/* The table of what `dsql doctor` can find. */
#include "cli/doctor.h"

const struct dsql_diagnosis_info dsql_diagnoses[] = {
#define DSQL_DIAGNOSIS(name, check, state, meaning, todo)                                          \
    {check, DSQL_DOCTOR_##state, meaning, todo},
#include "cli/doctor.def"
#undef DSQL_DIAGNOSIS
};

const char *dsql_doctor_state_name(enum dsql_doctor_state state)
{
    static const char *const names[DSQL_DOCTOR_STATES] = {
        [DSQL_DOCTOR_OK] = "ok",
        [DSQL_DOCTOR_WARN] = "warn",
        [DSQL_DOCTOR_FAIL] = "FAIL",
        [DSQL_DOCTOR_SKIP] = "skip",
    };
    return names[state];
}
