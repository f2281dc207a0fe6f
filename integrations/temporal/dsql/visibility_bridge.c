#include "visibility_bridge.h"

#include <stdlib.h>

/* The values of a record, taken one by one. Their number was written by the same program. */
struct reader {
    const struct bridge_value *at, *end;
    const char *bytes;
};

static const struct bridge_value *next(struct reader *reader)
{
    static const struct bridge_value none = {.kind = BRIDGE_NULL};
    return reader->at < reader->end ? reader->at++ : &none;
}

static struct dsql_slice text(struct reader *reader)
{
    const struct bridge_value *value = next(reader);
    if (value->kind != BRIDGE_BYTES)
        return dsql_slice(NULL, 0);
    return dsql_slice(reader->bytes + value->number, (size_t)value->len);
}

static int64_t number(struct reader *reader)
{
    const struct bridge_value *value = next(reader);
    return value->kind == BRIDGE_NUMBER ? value->number : DSQL_NULL_I64;
}

static void read_fields(struct reader *reader, struct dsql_visibility_record *record)
{
    record->namespace_id = text(reader);
    record->run_id = text(reader);
    record->version = number(reader);
    record->status = (int32_t)number(reader);
    record->start_us = number(reader);
    record->execution_us = number(reader);
    record->close_us = number(reader); /* NULL is DSQL_VISIBILITY_OPEN */
    record->workflow_id = text(reader);
    record->workflow_type = text(reader);
    record->task_queue = text(reader);
    record->root_workflow_id = text(reader);
    record->root_run_id = text(reader);
    record->parent_workflow_id = text(reader);
    record->parent_run_id = text(reader);
    record->memo = text(reader);
    record->encoding = text(reader);
    record->execution_duration_ns = number(reader);
    record->history_length = number(reader);
    record->history_size_bytes = number(reader);
    record->state_transition_count = number(reader);
}

static struct dsql_tx_policy policy_of(const struct bridge_engine *engine,
                                       struct dsql_cancel *cancel, int64_t timeout_ns)
{
    struct dsql_tx_policy policy = engine->policy;
    policy.cancel = cancel;
    policy.timeout_ns = timeout_ns;
    return policy;
}

int bridge_visibility_record(struct bridge_engine *engine, int write,
                             const struct bridge_value *values, size_t count, const void *bytes,
                             struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_err *err)
{
    struct reader reader = {values, values + count, bytes};
    struct dsql_visibility_record record = {0};
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    read_fields(&reader, &record);
    /* There are fewer attributes, and fewer values of them, than there are values left. */
    size_t room = (size_t)(reader.end - reader.at) + 1;
    struct dsql_visibility_attribute *attributes = calloc(room, sizeof(*attributes));
    struct dsql_slice *texts = calloc(room, sizeof(*texts));
    size_t used = 0;
    enum dsql_rc rc = DSQL_NO_MEMORY;
    if (attributes && texts) {
        while (reader.at < reader.end) {
            struct dsql_visibility_attribute *made = &attributes[record.attribute_count++];
            made->name = text(&reader);
            made->type = (enum dsql_visibility_type)number(&reader);
            made->values = texts + used;
            made->count = (size_t)number(&reader);
            for (size_t i = 0; i < made->count && reader.at < reader.end; i++)
                texts[used++] = text(&reader);
        }
        record.attributes = attributes;
        rc = dsql_visibility_record(engine->visibility, (enum dsql_visibility_write)write, &record,
                                    &policy, NULL, err);
    } else {
        (void)dsql_err_set(err, rc, "out of memory");
    }
    free(attributes);
    free(texts);
    return rc;
}

int bridge_visibility_delete(struct bridge_engine *engine, const void *namespace_id,
                             size_t namespace_len, const void *run_id, size_t run_len,
                             struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_err *err)
{
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    return dsql_visibility_delete(engine->visibility, dsql_slice(namespace_id, namespace_len),
                                  dsql_slice(run_id, run_len), &policy, NULL, err);
}

int bridge_visibility_compact(struct bridge_engine *engine, struct dsql_cancel *cancel,
                              int64_t timeout_ns, struct dsql_visibility_compacted *compacted,
                              struct dsql_err *err)
{
    struct dsql_tx_policy policy = policy_of(engine, cancel, timeout_ns);
    return dsql_visibility_compact(engine->visibility, &policy, compacted, err);
}
