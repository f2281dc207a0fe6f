/* Jobs that come of a statement of another kind than CREATE INDEX ASYNC. */
#ifndef DSQL_LOCAL_MODULE_JOB_H
#define DSQL_LOCAL_MODULE_JOB_H

#include "local/module/module.h"

#include <nodes/parsenodes.h>

/* ANALYZE of these tables has been carried out: a job for each that the user may analyze. */
void dsql_job_analyzed(const VacuumStmt *statement);

#endif
