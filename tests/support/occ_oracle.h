/*
 * What Aurora DSQL's concurrency control answers, as plain data: snapshot isolation, the matrix of
 * conflicts, unique keys, one foreign key. The differential test holds it beside the endpoint.
 *
 * Two tables: t (id primary key, k unique or null, v) and c (id primary key, t references t (id)).
 * A row keeps one number for life, whatever becomes of its columns: conflicts are about that
 * number, and about values of unique keys. A transaction copies the committed rows when it first
 * looks; everything it does happens to its copy.
 */
#ifndef TESTS_SUPPORT_OCC_ORACLE_H
#define TESTS_SUPPORT_OCC_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OCC_ROWS_MAX = 128,
    OCC_EFFECTS_MAX = 512,
    OCC_LOG_MAX = 65536,
    OCC_NULL = -1,
};

enum occ_table { OCC_T, OCC_C };

struct occ_row {
    uint64_t number;
    enum occ_table table;
    int id;
    int k; /* t: k, or OCC_NULL; c: the id in t */
    int v;
};

enum occ_mode { OCC_KEY_SHARE = 1, OCC_WRITE = 2, OCC_EXCLUSIVE = 4 };

enum occ_kind { OCC_ROW, OCC_T_ID, OCC_T_K, OCC_C_ID };

/* Something done to a row, or to a value of a unique key. */
struct occ_effect {
    enum occ_kind kind;
    uint64_t what;
    unsigned modes;
    uint64_t committed; /* in the log: when */
};

struct occ_world {
    struct occ_row rows[OCC_ROWS_MAX];
    size_t row_count;
    struct occ_effect log[OCC_LOG_MAX];
    size_t log_count;
    uint64_t commits, next_number;
};

struct occ_tx {
    struct occ_world *world;
    bool looked;       /* it has its snapshot */
    uint64_t snapshot; /* how many commits it sees */
    struct occ_row rows[OCC_ROWS_MAX];
    size_t row_count;
    uint64_t own[OCC_ROWS_MAX]; /* the rows it inserted, by number */
    size_t own_count;
    struct occ_effect effects[OCC_EFFECTS_MAX];
    size_t effect_count;
};

enum occ_answer { OCC_DONE, OCC_DUPLICATE /* 23505 */, OCC_FOREIGN /* 23503 */ };

void occ_begin(struct occ_tx *tx, struct occ_world *world);

/* Takes the snapshot if there is none; every statement does it. */
void occ_look(struct occ_tx *tx);

/* The row with that id as the transaction sees it, or NULL. */
struct occ_row *occ_find(struct occ_tx *tx, enum occ_table table, int id);

/* Each does what the statement does to one row. After anything but OCC_DONE the transaction must
 * roll back. */
enum occ_answer occ_insert(struct occ_tx *tx, enum occ_table table, int id, int k, int v);
enum occ_answer occ_update(struct occ_tx *tx, struct occ_row *row, int id, int k, int v);
enum occ_answer occ_delete(struct occ_tx *tx, struct occ_row *row);
void occ_lock(struct occ_tx *tx, const struct occ_row *row, enum occ_mode mode);

/* True if it commits; false if it conflicts. oldest: the least snapshot of those still open. */
bool occ_commit(struct occ_tx *tx, uint64_t oldest);

/* Whether the committed rows obey all constraints: the oracle's own conscience. */
bool occ_is_consistent(const struct occ_world *world);

#endif
