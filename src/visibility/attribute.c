#include "visibility/attribute.h"

#define OPEN_RUN "'-9223372036854775808'::bigint"

/* clang-format off */
static const struct dsql_vis_attribute columns[] = {
    {"RunId",                "", "run_id", "", DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_RUN_ID, true},
    {"WorkflowId",           "", "workflow_id", "",            DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_WORKFLOW_ID, false},
    {"WorkflowType",         "", "workflow_type_name", "",     DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_TYPE, false},
    {"TaskQueue",            "", "task_queue", "",             DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_TASK_QUEUE, false},
    {"ParentWorkflowId",     "", "parent_workflow_id", "",     DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_PARENT, false},
    {"ParentRunId",          "", "parent_run_id", "",          DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {"RootWorkflowId",       "", "root_workflow_id", "",       DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_ROOT, false},
    {"RootRunId",            "", "root_run_id", "",            DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {DSQL_VISIBILITY_DIVISION,      "NULLIF(", "division", ", '')",   DSQL_VIS_TYPE_KEYWORD, DSQL_OID_TEXT, DSQL_VIS_BY_NOTHING, false},
    {"ExecutionStatus",      "", "status", "",                 DSQL_VIS_TYPE_INT,     DSQL_OID_INT2, DSQL_VIS_BY_STATUS, false},
    {"StartTime",            "(-", "start_inv", ")",           DSQL_VIS_TYPE_TIME,    DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, true},
    {"CloseTime",            "(-NULLIF(", "close_inv", ", " OPEN_RUN "))", DSQL_VIS_TYPE_TIME, DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, true},
    {"ExecutionTime",        "", "execution_time", "",         DSQL_VIS_TYPE_TIME,    DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"ExecutionDuration",    "", "execution_duration", "",     DSQL_VIS_TYPE_INT,     DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"HistoryLength",        "", "history_length", "",         DSQL_VIS_TYPE_INT,     DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"HistorySizeBytes",     "", "history_size_bytes", "",     DSQL_VIS_TYPE_INT,     DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, false},
    {"StateTransitionCount", "", "state_transition_count", "", DSQL_VIS_TYPE_INT,     DSQL_OID_INT8, DSQL_VIS_BY_NOTHING, false},
};
/* clang-format on */

const struct dsql_vis_attribute *dsql_vis_attribute(struct dsql_span name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(columns); i++)
        if (dsql_span_eq(name, dsql_span_of(columns[i].name)))
            return &columns[i];
    return NULL;
}

void dsql_vis_add_column(struct dsql_strbuf *text, const struct dsql_vis_attribute *column,
                         const char *alias)
{
    dsql_strbuf_addf(text, "%s%s.%s%s", column->before, alias, column->column, column->after);
}
