/* Runs as one piece of memory, and that memory as structs. */
#include <stdlib.h>

#include "base/flat.h"
#include "visibility/read.h"

void dsql_visibility_page_fini(struct dsql_visibility_page *page)
{
    free(page->data);
    free(page->token_data);
    *page = (struct dsql_visibility_page){0};
}

void dsql_vis_page_clear(struct dsql_visibility_page *page)
{
    *page = (struct dsql_visibility_page){
        .data = page->data, .cap = page->cap, .token_data = page->token_data};
}

enum kind { BYTES, NUMBER, INVERTED, MEMO };

/* In the order of dsql_vis_columns. */
static const struct {
    enum kind kind;
    size_t offset;
} members[] = {
#define MEMBER(kind, name)                                                                         \
    {                                                                                              \
        kind, offsetof(struct dsql_visibility_run, name)                                           \
    }
    MEMBER(BYTES, run_id),
    MEMBER(BYTES, workflow_id),
    MEMBER(BYTES, workflow_type),
    MEMBER(INVERTED, start_us),
    MEMBER(NUMBER, execution_us),
    MEMBER(INVERTED, close_us),
    MEMBER(NUMBER, status),
    MEMBER(NUMBER, history_length),
    MEMBER(NUMBER, history_size_bytes),
    MEMBER(NUMBER, execution_duration_ns),
    MEMBER(NUMBER, state_transition_count),
    MEMBER(MEMO, memo),
    MEMBER(BYTES, encoding),
    MEMBER(BYTES, task_queue),
    MEMBER(BYTES, search_attributes),
    MEMBER(BYTES, parent_workflow_id),
    MEMBER(BYTES, parent_run_id),
    MEMBER(BYTES, root_workflow_id),
    MEMBER(BYTES, root_run_id),
#undef MEMBER
};
static_assert(DSQL_COUNT_OF(members) == DSQL_VIS_RUN_COLUMNS, "one for each column");

/* Room is there. */
static void put(struct dsql_visibility_page *page, const void *bytes, size_t len)
{
    page->len += dsql_flat_put(page->data + page->len, bytes, len);
}

/* Room is there. */
static void put_rest(struct dsql_visibility_page *page, size_t memo_len, struct dsql_slice rest)
{
    int32_t whole = (int32_t)(memo_len + rest.len);
    memcpy(page->data + page->len - memo_len - sizeof(whole), &whole, sizeof(whole));
    memcpy(page->data + page->len, rest.ptr, rest.len);
    page->len += rest.len;
}

static bool add_member(struct dsql_visibility_page *page, enum kind kind,
                       const struct dsql_rows *rows, size_t row, size_t column)
{
    size_t len = 0;
    const void *bytes = dsql_rows_bytes(rows, row, column, &len);
    int64_t number;
    if (kind == BYTES || kind == MEMO || !bytes) {
        put(page, bytes, len);
        return true;
    }
    if (!dsql_rows_i64(rows, row, column, &number))
        return false;
    if (kind == INVERTED && number == DSQL_VIS_OPEN) {
        put(page, NULL, 0);
        return true;
    }
    number = kind == INVERTED ? -number : number;
    put(page, &number, sizeof(number));
    return true;
}

enum dsql_rc dsql_vis_page_add(struct dsql_visibility_page *page, const struct dsql_rows *rows,
                               size_t row, size_t column, struct dsql_err *err)
{
    size_t before = page->len;
    struct dsql_slice rest = {0};
    rest.ptr = dsql_rows_bytes(rows, row, column + DSQL_VIS_RUN_COLUMNS, &rest.len);
    if (dsql_rows_columns(rows) != column + DSQL_VIS_MEMO_REST)
        return dsql_err_set(err, DSQL_PROTOCOL, "%zu columns instead of %zu",
                            dsql_rows_columns(rows), column + DSQL_VIS_MEMO_REST);
    for (size_t i = 0; i < DSQL_COUNT_OF(members); i++) {
        size_t len = 0;
        (void)dsql_rows_bytes(rows, row, column + i, &len);
        bool has_room = dsql_flat_reserve(
            &page->data, &page->cap, page->len + dsql_flat_size(sizeof(int64_t) + len) + rest.len);
        if (has_room && add_member(page, members[i].kind, rows, row, column + i)) {
            if (members[i].kind == MEMO && rest.ptr)
                put_rest(page, len, rest);
            continue;
        }
        page->len = before;
        return has_room ? dsql_err_set(err, DSQL_PROTOCOL, "the column %s can't be read",
                                       dsql_rows_name(rows, column + i))
                        : dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    page->rows++;
    return DSQL_OK;
}

bool dsql_visibility_next(struct dsql_visibility_page *page, struct dsql_visibility_run *run)
{
    if (page->row >= page->rows)
        return false;
    for (size_t i = 0; i < DSQL_COUNT_OF(members); i++) {
        char *out = (char *)run + members[i].offset;
        int64_t number = DSQL_NULL_I64;
        struct dsql_slice value;
        page->at += dsql_flat_get(page->data + page->at, &value);
        if (members[i].kind == BYTES || members[i].kind == MEMO) {
            memcpy(out, &value, sizeof(value));
        } else {
            if (value.len == sizeof(number))
                memcpy(&number, value.ptr, sizeof(number));
            memcpy(out, &number, sizeof(number));
        }
    }
    page->row++;
    return true;
}
