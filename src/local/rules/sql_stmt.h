/*
 * What `dsql local` knows of a query string before PostgreSQL sees it: which statements it holds,
 * of what kind each is, and whether Aurora DSQL would refuse it, with which words. Everything here
 * follows from the text alone, so that a script can be kept and shared by all sessions; what
 * depends on the session (in a transaction or not, a setting) is a condition on the refusal.
 *
 * scan (sql_scan.h) -> libpg_query (sql_pg16.h: what it does not know) -> rules (sql_rules.h) ->
 * this; cached by text in sql_cache.h. The rules that run across statements are in sql_tx.h.
 * Single-threaded.
 */
#ifndef DSQL_LOCAL_SQL_STMT_H
#define DSQL_LOCAL_SQL_STMT_H

#include "local/rules/sql_dialect.h"
#include "local/rules/sql_edits.h"

enum dsql_sql_kind {
    DSQL_SQL_OTHER,  /* ANALYZE, SET CONSTRAINTS, and whatever is refused by name */
    DSQL_SQL_SELECT, /* VALUES and TABLE too */
    DSQL_SQL_DML,    /* INSERT, UPDATE, DELETE */
    DSQL_SQL_DDL,    /* everything that changes the catalogue; GRANT and REVOKE too */
    DSQL_SQL_BEGIN,  /* START TRANSACTION too */
    DSQL_SQL_COMMIT, /* END too */
    DSQL_SQL_ROLLBACK,
    DSQL_SQL_SET,        /* RESET too; name and value say what */
    DSQL_SQL_SHOW,       /* name */
    DSQL_SQL_COPY_IN,    /* COPY ... FROM STDIN */
    DSQL_SQL_COPY_OUT,   /* COPY ... TO STDOUT */
    DSQL_SQL_PREPARE,    /* name; inner is the kind of the prepared statement */
    DSQL_SQL_EXECUTE,    /* name */
    DSQL_SQL_DEALLOCATE, /* name, or NULL for ALL */
    DSQL_SQL_CALL,       /* name is the procedure's, value the first argument if it is a literal */
    DSQL_SQL_EXPLAIN,    /* inner */
    DSQL_SQL_IAM_GRANT,  /* name is the role, value the ARN; a DDL that PostgreSQL never sees */
    DSQL_SQL_IAM_REVOKE,
};

/* "ddl" for DSQL_SQL_DDL. Static storage. */
const char *dsql_sql_kind_name(enum dsql_sql_kind kind);

enum {
    DSQL_SQL_IS_DDL = 1 << 0,       /* counts for the two DDL rules */
    DSQL_SQL_WRITES = 1 << 1,       /* changes rows when it runs: counts as DML */
    DSQL_SQL_INNER_WRITES = 1 << 2, /* PREPARE: the prepared statement changes rows */
    DSQL_SQL_FOR_UPDATE = 1 << 3,   /* holds that locking clause somewhere */
    DSQL_SQL_FOR_KEY_SHARE = 1 << 4,
    DSQL_SQL_READ_ONLY = 1 << 5, /* BEGIN ... READ ONLY */
    DSQL_SQL_JOB = 1 << 6,       /* ASYNC: answers a row of one column, job_id, and its usual tag */
    DSQL_SQL_UNIQUE = 1 << 7,    /* CREATE UNIQUE INDEX */
    DSQL_SQL_WAIT_FOR_JOB = 1 << 8,   /* CALL sys.wait_for_job(...) */
    DSQL_SQL_LOCAL = 1 << 9,          /* SET LOCAL */
    DSQL_SQL_RESET = 1 << 10,         /* RESET x, RESET ALL (name is NULL), SET x TO DEFAULT */
    DSQL_SQL_FRONT_SETTING = 1 << 11, /* SET or SHOW of a setting that PostgreSQL does not know */
    DSQL_SQL_EXPLAIN_RUNS = 1 << 12,  /* EXPLAIN ANALYZE: what it explains is carried out */
    DSQL_SQL_SETS = 1 << 13,          /* calls set_config(), not only for the transaction */
    DSQL_SQL_ROLE_SETS = 1 << 14,     /* ALTER ROLE ... SET */
};

/* When a refusal holds. */
enum dsql_sql_when {
    DSQL_SQL_ALWAYS,
    DSQL_SQL_IN_BLOCK,      /* only between BEGIN and COMMIT */
    DSQL_SQL_OUTSIDE_BLOCK, /* only outside */
    DSQL_SQL_SYNC_INDEX_OFF /* unless the session set disable_sync_create_index=off */
};

/* An error as the service words it. Empty strings are fields that are not sent. */
struct dsql_sql_refusal {
    enum dsql_sql_when when;
    char sqlstate[6];
    char message[256];
    char detail[128];
    char hint[128];
    int32_t position; /* 1-based, in characters of the query string; 0 for none */
    bool of_call;     /* of a call that fails when it runs: a function's body may hold it */
};

/* Fills *refusal: ALWAYS, no detail, no hint, no position, not of a call. */
void dsql_sql_refuse(struct dsql_sql_refusal *refusal, const char *sqlstate, const char *fmt, ...)
    DSQL_PRINTF(3, 4);

enum {
    DSQL_SQL_NAME_MAX = 64,  /* PostgreSQL's NAMEDATALEN: longer names are cut */
    DSQL_SQL_TABLES_MAX = 64 /* as many tables of a statement are remembered */
};

struct dsql_sql_table {
    char schema[DSQL_SQL_NAME_MAX]; /* empty if the statement does not say */
    char name[DSQL_SQL_NAME_MAX];
};

struct dsql_sql_stmt {
    size_t offset, len; /* in the script's text, without the semicolon */
    enum dsql_sql_kind kind;
    enum dsql_sql_kind inner;
    unsigned flags;
    char *name, *value;            /* see the kinds; NULL if there is none */
    struct dsql_sql_table *tables; /* what it names: tables, views, indexes, sequences, CTEs */
    size_t table_count;
    struct dsql_sql_refusal *refusals[2]; /* the first whose condition holds is the answer */
};

struct dsql_sql_script {
    /* For PostgreSQL, terminated: as sent, with unknown words blanked out, or made from what was
     * sent by edits. */
    struct dsql_span text;
    struct dsql_sql_stmt *stmts;
    size_t count;
    /* The string as a whole is refused, before any statement runs: a syntax error, nested too
     * deeply. Then count is 0. NULL otherwise. */
    struct dsql_sql_refusal *refusal;

    char *sent; /* the text as it came */
    size_t sent_len;
    struct dsql_sql_edits edits; /* of it, for PostgreSQL 16's grammar; mostly none */
    char *edited;                /* the text with them; NULL if there are none */
    char *changed;               /* with words blanked out; NULL if nothing changed */
    size_t refs;
    size_t bytes; /* memory it takes, about */
};

/* Reads a query string. Fails with DSQL_NO_MEMORY only; the caller holds one reference. text needs
 * no terminator and must not contain one. */
DSQL_MUST_USE enum dsql_rc dsql_sql_script_new(struct dsql_span text,
                                               struct dsql_sql_script **script);
/* Reads a query string for the service as it was on a day. */
DSQL_MUST_USE enum dsql_rc dsql_sql_script_new_as(struct dsql_span text,
                                                  struct dsql_sql_dialect dialect,
                                                  struct dsql_sql_script **script);
struct dsql_sql_script *dsql_sql_script_ref(struct dsql_sql_script *script);
void dsql_sql_script_unref(struct dsql_sql_script *script);

static inline struct dsql_span dsql_sql_stmt_text(const struct dsql_sql_script *script,
                                                  const struct dsql_sql_stmt *stmt)
{
    return (struct dsql_span){script->text.ptr + stmt->offset, stmt->len};
}

/* Where the client wrote what is at a place of the script's text. Both are counted from 1, in
 * characters, as PostgreSQL counts. */
size_t dsql_sql_script_position(const struct dsql_sql_script *script, size_t position);

/* What the conditions are about. */
struct dsql_sql_session {
    bool in_block;   /* between BEGIN and COMMIT */
    bool sync_index; /* disable_sync_create_index is off */
};

/* Why the statement is refused, or NULL. */
const struct dsql_sql_refusal *dsql_sql_stmt_refusal(const struct dsql_sql_stmt *stmt,
                                                     const struct dsql_sql_session *session);

/* For the text of a Parse message, which may hold one statement only: the script's refusal, the one
 * for holding more, or NULL. */
const struct dsql_sql_refusal *dsql_sql_script_parse_refusal(const struct dsql_sql_script *script);

#endif
