/*
 * What a new cluster gets before anybody connects, for `postgres --single -j`: statements end with
 * a semicolon and an empty line. `admin` is no superuser in PostgreSQL's sense; it owns the
 * database and the schema public, and may make roles. The schema sys is the service's; names that
 * begin with dsql_ are ours.
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

extern const char dsql_local_first_sql[];

#endif
