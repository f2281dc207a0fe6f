#include "tx/verb.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/defs.h"

/* The first character behind a comment that may hold others; the end if it is not closed. */
static const char *skip_comment(const char *at)
{
    int depth = 0;
    do {
        if (strncmp(at, "/*", 2) == 0) {
            depth++;
            at += 2;
        } else if (strncmp(at, "*/", 2) == 0) {
            depth--;
            at += 2;
        } else {
            at++;
        }
    } while (depth > 0 && *at);
    return at;
}

static const char *skip_blanks(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\n\r\f\v;");
        if (strncmp(at, "--", 2) == 0)
            at += strcspn(at, "\n\r");
        else if (strncmp(at, "/*", 2) == 0)
            at = skip_comment(at);
        else
            return at;
    }
}

static size_t word_len(const char *at)
{
    return strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
}

/* Whether the word stands here; *at is then the next one. */
static bool take_word(const char **at, const char *word)
{
    size_t len = word_len(*at);
    if (len != strlen(word) || strncasecmp(*at, word, len) != 0)
        return false;
    *at = skip_blanks(*at + len);
    return true;
}

enum dsql_verb dsql_verb_of(const char *sql)
{
    static const struct {
        const char *words[2]; /* the second one may be NULL */
        enum dsql_verb verb;
    } table[] = {
        {{"INSERT"}, DSQL_VERB_COUNTED},
        {{"UPDATE"}, DSQL_VERB_COUNTED},
        {{"DELETE"}, DSQL_VERB_COUNTED},
        {{"MERGE"}, DSQL_VERB_COUNTED},
        {{"BEGIN"}, DSQL_VERB_CONTROL},
        {{"START"}, DSQL_VERB_CONTROL},
        {{"COMMIT"}, DSQL_VERB_CONTROL},
        {{"END"}, DSQL_VERB_CONTROL},
        {{"ROLLBACK"}, DSQL_VERB_CONTROL},
        {{"ABORT"}, DSQL_VERB_CONTROL},
        {{"PREPARE", "TRANSACTION"}, DSQL_VERB_CONTROL},
        {{"COPY"}, DSQL_VERB_COPY},
        {{"DEALLOCATE", "ALL"}, DSQL_VERB_FORGET},
        {{"DISCARD", "ALL"}, DSQL_VERB_FORGET},
    };
    const char *first = skip_blanks(sql);
    for (size_t i = 0; i < DSQL_COUNT_OF(table); i++) {
        const char *at = first;
        if (!take_word(&at, table[i].words[0]))
            continue;
        if (table[i].verb == DSQL_VERB_FORGET)
            (void)take_word(&at, "PREPARE"); /* DEALLOCATE PREPARE ALL */
        if (!table[i].words[1] || take_word(&at, table[i].words[1]))
            return table[i].verb;
    }
    return DSQL_VERB_OTHER;
}
