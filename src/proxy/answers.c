#include "proxy/answers.h"

#include <stdlib.h>

struct dsql_answer *dsql_answers_at(const struct dsql_answers *answers, uint32_t i)
{
    return &answers->ring[(answers->first + i) & (answers->cap - 1)];
}

void dsql_answer_release(struct dsql_answer *entry)
{
    dsql_definition_unref(entry->definition);
    dsql_statement_unref(entry->statement);
    dsql_renames_unref(entry->renames);
    entry->definition = NULL;
    entry->renames = NULL;
    entry->statement = NULL;
}

void dsql_answers_fini(struct dsql_answers *answers)
{
    while (answers->count > 0) {
        struct dsql_answer entry = dsql_answers_pop(answers);
        dsql_answer_release(&entry);
    }
    free(answers->ring);
    *answers = (struct dsql_answers){0};
}

static bool grow(struct dsql_answers *answers)
{
    uint32_t cap = answers->cap ? 2 * answers->cap : 8;
    struct dsql_answer *grown = calloc(cap, sizeof(*grown));
    if (!grown)
        return false;
    for (uint32_t i = 0; i < answers->count; i++)
        grown[i] = *dsql_answers_at(answers, i);
    free(answers->ring);
    answers->ring = grown;
    answers->cap = cap;
    answers->first = 0;
    return true;
}

/* What later messages mean depends on whether this one is carried out. */
static bool is_change(const struct dsql_answer *entry)
{
    return entry->effect != DSQL_EFFECT_NONE || entry->statement || entry->unnamed;
}

static bool ends_segment(const struct dsql_answer *entry)
{
    return entry->kind == DSQL_ANSWER_SYNC || entry->kind == DSQL_ANSWER_QUERY;
}

bool dsql_answers_push(struct dsql_answers *answers, struct dsql_answer entry)
{
    if (answers->count == answers->cap && !grow(answers)) {
        dsql_answer_release(&entry);
        return false;
    }
    answers->count++;
    *dsql_answers_at(answers, answers->count - 1) = entry;
    answers->changes += is_change(&entry);
    if (ends_segment(&entry) || entry.effect == DSQL_EFFECT_ALL ||
        entry.effect == DSQL_EFFECT_HOME) {
        answers->changes_earlier += answers->changes;
        answers->changes = 0;
    }
    return true;
}

struct dsql_answer *dsql_answers_head(struct dsql_answers *answers)
{
    return answers->count > 0 ? dsql_answers_at(answers, 0) : NULL;
}

struct dsql_answer dsql_answers_pop(struct dsql_answers *answers)
{
    assert(answers->count > 0);
    struct dsql_answer entry = *dsql_answers_at(answers, 0);
    answers->first = (answers->first + 1) & (answers->cap - 1);
    answers->count--;
    if (is_change(&entry)) {
        if (answers->changes_earlier > 0)
            answers->changes_earlier--;
        else
            answers->changes--;
    }
    return entry;
}

uint32_t dsql_answers_dropped(struct dsql_answers *answers, bool *skips)
{
    *skips = false;
    if (answers->count == 0 || ends_segment(dsql_answers_at(answers, 0)))
        return 0;
    uint32_t n = 0;
    while (n < answers->count && dsql_answers_at(answers, n)->kind != DSQL_ANSWER_SYNC)
        n++; /* a query in between is skipped too */
    *skips = n == answers->count;
    return n;
}

bool dsql_answers_may_skip(const struct dsql_answers *answers)
{
    for (uint32_t i = answers->count; i-- > 0;) {
        enum dsql_answer_kind kind = dsql_answers_at(answers, i)->kind;
        if (kind == DSQL_ANSWER_SYNC)
            return false;
        if (kind != DSQL_ANSWER_QUERY)
            return true;
    }
    return false;
}

void dsql_answers_copy_in(struct dsql_answers *answers)
{
    uint32_t kept = 1, i = 1;
    while (i < answers->count && dsql_answers_at(answers, i)->kind == DSQL_ANSWER_SYNC)
        i++;
    bool ended = i < answers->count;
    if (ended) /* any other message ends COPY too, with an error, and is not answered */
        dsql_answers_at(answers, i)->kind = DSQL_ANSWER_COPY_END;
    /* Syncs carry nothing that has to be released. */
    for (; i < answers->count; i++)
        *dsql_answers_at(answers, kept++) = *dsql_answers_at(answers, i);
    answers->count = kept;
    answers->copying = !ended;
}
