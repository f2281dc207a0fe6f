#include "sim/replay_page.h"

#include <stdlib.h>

#include "base/duration.h"
#include "sim/chart.h"

enum { ROWS = 720 };

enum level { OPEN, OPENING, AGING, WAITING, LEVELS };

/* Counts since the beginning. */
enum count { OPENS, FAILURES, CLOSES, COUNTS };

struct row {
    struct dsql_chart_value levels[LEVELS];
    double counts[COUNTS];
    double discards[DSQL_DISCARDS];
};

struct page {
    int64_t interval_ns;
    size_t current;
    struct row *rows;
};

static void set_level(struct dsql_chart_value *level, double value)
{
    level->now = value;
    if (value < level->low)
        level->low = value;
    if (value > level->high)
        level->high = value;
}

/* Rows in which nothing happened stay where the one before ended. */
static void go_to(struct page *page, size_t row)
{
    for (; page->current < row; page->current++) {
        struct row *next = &page->rows[page->current + 1];
        *next = page->rows[page->current];
        for (size_t i = 0; i < LEVELS; i++)
            next->levels[i].low = next->levels[i].high = next->levels[i].now;
    }
}

static void count(struct row *row, const struct dsql_sim_replay_event *e)
{
    const struct dsql_keeper_step *step = &e->reply->step;
    row->counts[FAILURES] += e->call->kind == DSQL_KEEPER_CALL_FAILED;
    if (e->call->kind != DSQL_KEEPER_CALL_NEXT)
        return;
    row->counts[OPENS] += step->what == DSQL_KEEPER_OPEN;
    row->counts[CLOSES] += step->what == DSQL_KEEPER_CLOSE;
    row->discards[step->discard] += step->what == DSQL_KEEPER_CLOSE;
}

static void watch(void *arg, const struct dsql_sim_replay_event *e)
{
    struct page *page = arg;
    int64_t at = e->at.ns / page->interval_ns;
    go_to(page, at < 0 ? 0 : at < ROWS ? (size_t)at : ROWS - 1);
    struct row *row = &page->rows[page->current];
    const double levels[LEVELS] = {
        [OPEN] = e->keeper->slots.open,
        [OPENING] = e->keeper->slots.opening,
        [AGING] = e->keeper->slots.aging,
        [WAITING] = e->keeper->waiting,
    };
    for (size_t i = 0; i < LEVELS; i++)
        set_level(&row->levels[i], levels[i]);
    count(row, e);
}

static struct dsql_mono at_of(const void *of, size_t row)
{
    return (struct dsql_mono){(int64_t)row * ((const struct page *)of)->interval_ns};
}

static struct dsql_chart_value level_of(const void *of, size_t row, size_t which)
{
    return ((const struct page *)of)->rows[row].levels[which];
}

static struct dsql_chart_value flat(double value)
{
    return (struct dsql_chart_value){value, value, value};
}

static struct dsql_chart_value count_of(const void *of, size_t row, size_t which)
{
    return flat(((const struct page *)of)->rows[row].counts[which]);
}

static struct dsql_chart_value discards_of(const void *of, size_t row, size_t which)
{
    return flat(((const struct page *)of)->rows[row].discards[which]);
}

static void put_head(const char *title, const struct dsql_sim_replay *replay, FILE *out)
{
    char began[40];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, began, sizeof(began));
    dsql_wall_format(&sb, replay->began);
    dsql_chart_page(out, "dsql sim replay", title);
    fprintf(out, "<p>What a pool of %u with target %u decided from %s on, for %s.</p>",
            replay->config.max_open, replay->config.target, began,
            dsql_duration_shown(dsql_mono_since(replay->last, replay->base)).text);
    fprintf(out, "<p class=\"soft\">recorded by libdsql %s; %llu turns, %llu gaps%s</p>\n",
            replay->version, (unsigned long long)replay->turns, (unsigned long long)replay->gaps,
            replay->closed ? "" : "; the recording was not ended");
    if (replay->differs) {
        fputs("<p class=\"bad\"><b>A decision differs.</b> ", out);
        dsql_chart_text(out, replay->difference);
        fputs("</p>\n", out);
    } else {
        fprintf(out, "<p class=\"good\"><b>All %llu decisions equal.</b></p>\n",
                (unsigned long long)replay->decisions);
    }
}

static void put_charts(const struct page *page, const struct dsql_sim_replay *replay, FILE *out)
{
    static const struct dsql_chart_line held[] = {
        {"open", level_of, OPEN}, {"opening", level_of, OPENING}, {"aging", level_of, AGING}};
    static const struct dsql_chart_line waiting = {"callers", level_of, WAITING};
    static const struct dsql_chart_line counts[] = {{"connects begun", count_of, OPENS},
                                                    {"failed", count_of, FAILURES},
                                                    {"closed", count_of, CLOSES}};
    struct dsql_chart_line reasons[DSQL_DISCARDS];
    size_t reason_count = 0;
    const struct row *last = &page->rows[ROWS - 1];
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        if (last->discards[i] > 0)
            reasons[reason_count++] =
                (struct dsql_chart_line){dsql_discard_name((enum dsql_discard)i), discards_of, i};
    const struct dsql_chart_data data = {
        .of = page,
        .duration_ns = ROWS * page->interval_ns,
        .rows = ROWS,
        .at = at_of,
    };
    dsql_chart_put(&data, out, "Connections",
                   "open, coming, and old enough to be replaced, against the target; the band is "
                   "the lowest and highest of each interval",
                   held, DSQL_COUNT_OF(held), replay->config.target);
    dsql_chart_put(&data, out, "Callers that wait", "as the opener saw them at its turns", &waiting,
                   1, 0);
    dsql_chart_put(&data, out, "Connects", "since the beginning of the recording", counts,
                   DSQL_COUNT_OF(counts), 0);
    if (reason_count > 0)
        dsql_chart_put(&data, out, "Discards", "connections closed so far, by reason", reasons,
                       reason_count, 0);
}

enum dsql_rc dsql_sim_replay_page(struct dsql_span file, const char *title,
                                  const struct dsql_sim_replay *replay, FILE *out,
                                  struct dsql_err *err)
{
    struct page page = {.interval_ns = dsql_mono_since(replay->last, replay->base) / ROWS + 1};
    struct dsql_sim_replay again;
    struct dsql_err known; /* what ends the file was said the first time */
    if (page.interval_ns < 1)
        return dsql_err_set(err, DSQL_INVALID, "a recording whose time goes back");
    page.rows = calloc(ROWS, sizeof(*page.rows));
    if (!page.rows)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for the page");
    (void)!dsql_sim_replay(file, watch, &page, &again, &known);
    go_to(&page, ROWS - 1);
    put_head(title, replay, out);
    put_charts(&page, replay, out);
    fputs("</body></html>\n", out);
    free(page.rows);
    return DSQL_OK;
}
