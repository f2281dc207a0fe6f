/*
 * Plays scripts of concurrent sessions against the endpoint of the environment and compares every
 * answer.
 *
 *     occ_script FILE...
 *
 *     --- name of a scenario     tables of the one before are dropped, sessions begin anew
 *     setup: statement           makes the tables; a session like any other
 *     a: statement               session a (any word) runs it; it must succeed
 *     a: statement => UPDATE 1   ... with this command tag
 *     a: statement => 1,x | 2,y  ... with these rows; "none" for no row
 *     a: statement => !40001 OC000   ... with this SQLSTATE and these words in the message
 *
 * Each file is played twice: by simple Query and by the extended protocol. One thread runs
 * everything in the order written, so a statement that waits for another session waits for ever; an
 * alarm ends it.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

enum { SESSIONS_MAX = 32, LINE_MAX_LEN = 4096, STATEMENT_SECONDS = 60 };

struct session {
    char name[32];
    PGconn *conn;
};

static struct session sessions[SESSIONS_MAX];
static size_t session_count;
static const char *file_name;
static int line_number, checked;
static bool extended;

static void fail(const char *what, const char *detail)
{
    (void)fprintf(stderr, "%s:%d (%s): %s%s\n", file_name, line_number,
                  extended ? "extended" : "simple", what, detail);
    exit(1);
}

static void close_sessions(void)
{
    for (size_t i = 0; i < session_count; i++)
        PQfinish(sessions[i].conn);
    session_count = 0;
}

static void quiet(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static PGconn *connect_to_endpoint(void)
{
    PGconn *conn = PQconnectdb("");
    if (PQstatus(conn) != CONNECTION_OK)
        fail("can't connect: ", PQerrorMessage(conn));
    PQsetNoticeProcessor(conn, quiet, NULL);
    return conn;
}

static PGconn *session_named(const char *name)
{
    for (size_t i = 0; i < session_count; i++)
        if (strcmp(sessions[i].name, name) == 0)
            return sessions[i].conn;
    if (session_count == SESSIONS_MAX)
        fail("too many sessions: ", name);
    struct session *session = &sessions[session_count++];
    (void)snprintf(session->name, sizeof(session->name), "%s", name);
    session->conn = connect_to_endpoint();
    return session->conn;
}

static PGresult *run(PGconn *conn, const char *sql)
{
    alarm(STATEMENT_SECONDS);
    PGresult *result =
        extended ? PQexecParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0) : PQexec(conn, sql);
    alarm(0);
    return result;
}

static void drop_everything(void)
{
    PGconn *conn = connect_to_endpoint();
    PGresult *names = PQexec(
        conn, "select format('drop table %I cascade', relname) from pg_class where relkind = 'r' "
              "and relnamespace = 'public'::regnamespace");
    for (int i = 0; i < PQntuples(names); i++) {
        PGresult *dropped = PQexec(conn, PQgetvalue(names, i, 0));
        if (PQresultStatus(dropped) != PGRES_COMMAND_OK)
            fail("can't drop: ", PQerrorMessage(conn));
        PQclear(dropped);
    }
    PQclear(names);
    PQfinish(conn);
}

/* What a result says, in the form of the scripts. */
static void show(PGresult *result, char *out, size_t cap)
{
    size_t len = 0;
    out[0] = '\0';
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        (void)snprintf(out, cap, "%s", PQcmdStatus(result));
        return;
    }
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        (void)snprintf(out, cap, "!%s %s", PQresultErrorField(result, PG_DIAG_SQLSTATE),
                       PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
        return;
    }
    for (int row = 0; row < PQntuples(result) && len < cap; row++)
        for (int column = 0; column < PQnfields(result) && len < cap; column++)
            len += (size_t)snprintf(
                out + len, cap - len, "%s%s", column > 0 ? "," : (row > 0 ? " | " : ""),
                PQgetisnull(result, row, column) ? "null" : PQgetvalue(result, row, column));
    if (PQntuples(result) == 0)
        (void)snprintf(out, cap, "none");
}

static bool matches(const char *got, const char *wanted)
{
    if (!wanted)
        return got[0] != '!';
    if (wanted[0] != '!')
        return strcmp(got, wanted) == 0;
    const char *words = strchr(wanted, ' ');
    size_t code = words ? (size_t)(words - wanted) : strlen(wanted);
    return strncmp(got, wanted, code) == 0 && (!words || strstr(got, words + 1));
}

static void play_line(char *line)
{
    char *statement = strstr(line, ": "), got[LINE_MAX_LEN];
    if (!statement)
        fail("no session: ", line);
    *statement = '\0';
    statement += 2;
    char *wanted = strstr(statement, " => ");
    if (wanted) {
        *wanted = '\0';
        wanted += 4;
    }
    PGresult *result = run(session_named(line), statement);
    show(result, got, sizeof(got));
    if (!matches(got, wanted))
        fail("answered: ", got);
    checked++;
    PQclear(result);
}

static void play_file(void)
{
    char line[LINE_MAX_LEN];
    FILE *file = fopen(file_name, "r");
    if (!file)
        fail("can't open", "");
    for (line_number = 1; fgets(line, sizeof(line), file); line_number++) {
        size_t len = strlen(line);
        while (len > 0 && isspace((unsigned char)line[len - 1]))
            line[--len] = '\0';
        if (len == 0 || line[0] == '#')
            continue;
        if (strncmp(line, "---", 3) == 0) {
            close_sessions();
            drop_everything();
            continue;
        }
        play_line(line);
    }
    (void)fclose(file);
    close_sessions();
    drop_everything();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        file_name = argv[i];
        for (int way = 0; way < 2; way++) {
            extended = way == 1;
            play_file();
        }
    }
    printf("%d answers as expected\n", checked);
    return checked > 0 ? 0 : 1;
}
