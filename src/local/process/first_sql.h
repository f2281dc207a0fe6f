/*
 * What a new cluster gets before anybody connects, for `postgres --single -j`: statements end with
 * a semicolon and an empty line. `admin` is no superuser in PostgreSQL's sense; it owns the schema
 * public, may make schemas and, as far as module/box_roles.c allows, roles. The schema sys is the
 * service's; names that begin with dsql_ are ours.
 *
 * The text runs again, before anybody connects, in each folder where another text ran last
 * (postgres.c keeps its digest in the folder). So each statement must work where it, or an earlier
 * version of it, ran before: CREATE OR REPLACE, IF NOT EXISTS, or a DO block that looks first. A
 * statement that fails ends the start.
 *
 * A statement that becomes a call of one of our functions must still answer with its own command
 * tag: the function says it in a notice, which relay.c takes out of the stream.
 */
#ifndef DSQL_LOCAL_FIRST_SQL_H
#define DSQL_LOCAL_FIRST_SQL_H

#define DSQL_LOCAL_TAG_NOTICE "dsql tag "

/* The endpoint's own role, and the parameter of a startup packet by which a session of the
 * endpoint's is known to the module. */
#define DSQL_LOCAL_SUPERUSER   "dsql_super"
#define DSQL_LOCAL_SECRET_NAME "dsql.secret"
#define DSQL_LOCAL_SECRET_LEN  64

/* Stands for DEFAULT in ALTER COLUMN ... SET STORAGE, unknown to PostgreSQL 15; as long. */
#define DSQL_LOCAL_DEFAULT_STORAGE "dsqldef"

/* Stands for the name of statistics that have none. */
#define DSQL_LOCAL_UNNAMED_STATISTICS "dsql_unnamed"

/* Where the functions are that stand in for JSON_OBJECT and JSON_ARRAY: clients see it, and pg_dump
 * leaves it out. */
#define DSQL_LOCAL_JSON_SCHEMA "information_schema"

/* The service's names for how tables are kept, and for what PostgreSQL calls btree. */
#define DSQL_LOCAL_TABLE_METHOD "btree_table"
#define DSQL_LOCAL_INDEX_METHOD "btree_index"

/* What the service says it is. */
#define DSQL_LOCAL_SERVER_VERSION     "16.15"
#define DSQL_LOCAL_SERVER_VERSION_NUM 160015
#define DSQL_LOCAL_VERSION_TEXT       "PostgreSQL 16"

extern const char dsql_local_first_sql[];

#endif
