#include "visibility/attribute.h"

#define OPEN_RUN "'-9223372036854775808'::bigint"

/* clang-format off */
static const struct dsql_vis_attribute columns[] = {
    {"RunId",                "s.run_id",                 DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_RUN_ID, true},
    {"WorkflowId",           "r.workflow_id",            DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_WORKFLOW_ID, false},
    {"WorkflowType",         "r.workflow_type_name",     DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_TYPE, false},
    {"TaskQueue",            "r.task_queue",             DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_TASK_QUEUE, false},
    {"ParentWorkflowId",     "r.parent_workflow_id",     DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_PARENT, false},
    {"ParentRunId",          "r.parent_run_id",          DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {"RootWorkflowId",       "r.root_workflow_id",       DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_ROOT, false},
    {"RootRunId",            "r.root_run_id",            DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {DSQL_VISIBILITY_DIVISION,      "NULLIF(r.division, '')",   DSQL_VIS_TYPE_KEYWORD, DSQL_VIS_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {"ExecutionStatus",      "r.status",                 DSQL_VIS_TYPE_INT,     DSQL_VIS_OID_INT2, DSQL_VIS_BY_STATUS, false},
    {"StartTime",            "(-s.start_inv)",           DSQL_VIS_TYPE_TIME,    DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, true},
    {"CloseTime",            "(-NULLIF(s.close_inv, " OPEN_RUN "))", DSQL_VIS_TYPE_TIME, DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, true},
    {"ExecutionTime",        "r.execution_time",         DSQL_VIS_TYPE_TIME,    DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"ExecutionDuration",    "r.execution_duration",     DSQL_VIS_TYPE_INT,     DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"HistoryLength",        "r.history_length",         DSQL_VIS_TYPE_INT,     DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"HistorySizeBytes",     "r.history_size_bytes",     DSQL_VIS_TYPE_INT,     DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"StateTransitionCount", "r.state_transition_count", DSQL_VIS_TYPE_INT,     DSQL_VIS_OID_INT8, DSQL_VIS_BY_NOTHING, false},
};
/* clang-format on */

const struct dsql_vis_attribute *dsql_vis_attribute(struct dsql_span name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(columns); i++)
        if (dsql_span_eq(name, dsql_span_of(columns[i].name)))
            return &columns[i];
    return NULL;
}
