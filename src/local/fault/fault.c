#include "local/fault/fault.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "base/time.h"

const struct dsql_fault_info dsql_fault_infos[DSQL_FAULT_COUNT] = {
#define DSQL_FAULT(constant, name, kind, doc) {name, DSQL_FAULT_##kind, doc},
#include "local/fault/fault.def"
#undef DSQL_FAULT
};

enum { TIMES_MAX = 1000000 };

static void sow(struct dsql_faults *faults, uint64_t seed)
{
    struct dsql_rng root = dsql_rng_seeded(seed);
    faults->seed = seed;
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        faults->of[i].rng = dsql_rng_split(&root);
}

void dsql_faults_init(struct dsql_faults *faults)
{
    *faults = (struct dsql_faults){.seed = 0};
    sow(faults, 1);
}

static void end_one(struct dsql_fault_state *state)
{
    state->chance = 0;
    state->times = 0;
    state->ns = 0;
}

void dsql_faults_clear(struct dsql_faults *faults)
{
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        end_one(&faults->of[i]);
}

bool dsql_faults_strike(struct dsql_faults *faults, enum dsql_fault fault)
{
    struct dsql_fault_state *state = &faults->of[fault];
    assert(dsql_fault_infos[fault].kind == DSQL_FAULT_CHANCE);
    bool strikes = state->times > 0;
    if (strikes)
        state->times--;
    else if (state->chance > 0)
        strikes = dsql_rng_unit(&state->rng) < state->chance;
    state->struck += strikes;
    return strikes;
}

/* The next word of a list, without the comma or blank behind it. */
static bool next_word(struct dsql_span *list, struct dsql_span *word)
{
    while (list->len > 0) {
        size_t len = 0;
        while (len < list->len && list->ptr[len] != ',' && list->ptr[len] != ' ')
            len++;
        *word = dsql_span_first(*list, len);
        *list = dsql_span_from(*list, len < list->len ? len + 1 : len);
        if (word->len > 0)
            return true;
    }
    return false;
}

bool dsql_fault_read_chance(struct dsql_span text, double *chance)
{
    double value, whole = 1;
    if (text.len > 0 && text.ptr[text.len - 1] == '%') {
        text.len--;
        whole = 100;
    }
    if (!dsql_span_to_f64(text, &value) || value < 0 || value > whole)
        return false;
    *chance = value / whole;
    return true;
}

/* 3x: the next three times. */
static bool read_times(struct dsql_span text, int64_t *times)
{
    return text.len > 1 && text.ptr[text.len - 1] == 'x' &&
           dsql_span_to_i64(dsql_span_first(text, text.len - 1), times) && *times >= 1 &&
           *times <= TIMES_MAX;
}

static bool read_ns(struct dsql_span text, int64_t *ns)
{
    return dsql_duration_parse(text, ns) && *ns >= 0 && *ns <= DSQL_H;
}

static enum dsql_fault find(struct dsql_span name)
{
    size_t i = 0;
    while (i < DSQL_FAULT_COUNT && !dsql_span_eq(name, dsql_span_of(dsql_fault_infos[i].name)))
        i++;
    return (enum dsql_fault)i;
}

static enum dsql_rc unknown(struct dsql_span name, struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = name};
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        dsql_nearest_see(&nearest, dsql_fault_infos[i].name);
    if (nearest.name)
        (void)dsql_err_set(err, DSQL_INVALID, "there is no fault %s; did you mean %s?",
                           dsql_shown(name).text, nearest.name);
    else
        (void)dsql_err_set(err, DSQL_INVALID, "there is no fault %s", dsql_shown(name).text);
    dsql_err_hint(err, "'dsql help local fault' lists them");
    return DSQL_INVALID;
}

static enum dsql_rc set_one(struct dsql_faults *faults, enum dsql_fault fault,
                            struct dsql_span value, struct dsql_fault_order *order,
                            struct dsql_err *err)
{
    const struct dsql_fault_info *info = &dsql_fault_infos[fault];
    struct dsql_fault_state state = faults->of[fault];
    const char *takes = "a duration up to 1h, such as 20ms";
    bool ok;
    end_one(&state);
    if (fault == DSQL_FAULT_DROP) {
        takes = "a part such as 50% or 0.5";
        ok = dsql_fault_read_chance(value, &order->drop);
    } else if (fault == DSQL_FAULT_STALL) {
        order->stall = true;
        ok = read_ns(value, &order->stall_ns);
    } else if (info->kind == DSQL_FAULT_CHANCE) {
        takes = "a chance such as 0.1 or 10%, or 3x for the next three times";
        ok = read_times(value, &state.times) || dsql_fault_read_chance(value, &state.chance);
    } else {
        ok = read_ns(value, &state.ns);
    }
    if (!ok)
        return dsql_err_set(err, DSQL_INVALID, "%s=%s: it takes %s", info->name,
                            dsql_shown(value).text, takes);
    faults->of[fault] = state;
    return DSQL_OK;
}

static enum dsql_rc set_word(struct dsql_faults *faults, struct dsql_span word,
                             struct dsql_fault_order *order, struct dsql_err *err)
{
    struct dsql_span name, value;
    int64_t seed;
    bool has_value = dsql_span_cut(word, '=', &name, &value);
    if (dsql_span_eq(name, DSQL_SPAN("seed"))) {
        if (!dsql_span_to_i64(value, &seed) || seed < 0)
            return dsql_err_set(err, DSQL_INVALID, "seed=%s: it takes a number from 0",
                                dsql_shown(value).text);
        sow(faults, (uint64_t)seed);
        return DSQL_OK;
    }
    enum dsql_fault fault = find(name);
    if (fault == DSQL_FAULT_COUNT)
        return unknown(name, err);
    if (!has_value)
        return dsql_err_set(err, DSQL_INVALID, "%s needs a value: %s=...",
                            dsql_fault_infos[fault].name, dsql_fault_infos[fault].name);
    return set_one(faults, fault, value, order, err);
}

enum dsql_rc dsql_faults_set(struct dsql_faults *faults, struct dsql_span list,
                             struct dsql_fault_order *order, struct dsql_err *err)
{
    struct dsql_faults changed = *faults;
    struct dsql_fault_order now = {.drop = 0};
    struct dsql_span word;
    while (next_word(&list, &word)) {
        enum dsql_rc rc = set_word(&changed, word, &now, err);
        if (rc)
            return rc;
    }
    *faults = changed;
    *order = now;
    return DSQL_OK;
}

enum dsql_rc dsql_faults_end(struct dsql_faults *faults, struct dsql_span names,
                             struct dsql_err *err)
{
    struct dsql_faults changed = *faults;
    struct dsql_span word;
    while (next_word(&names, &word)) {
        enum dsql_fault fault = find(word);
        if (fault == DSQL_FAULT_COUNT)
            return unknown(word, err);
        end_one(&changed.of[fault]);
    }
    *faults = changed;
    return DSQL_OK;
}

static void add_value(struct dsql_strbuf *out, const struct dsql_fault_state *state)
{
    dsql_strbuf_add_char(out, '=');
    if (state->ns > 0)
        dsql_duration_format(out, state->ns);
    else if (state->times > 0)
        dsql_strbuf_addf(out, "%lldx", (long long)state->times);
    else {
        dsql_strbuf_add_f64(out, (double)(int64_t)(state->chance * 1e8 + 0.5) / 1e6);
        dsql_strbuf_add_char(out, '%');
    }
}

void dsql_faults_list(const struct dsql_faults *faults, struct dsql_strbuf *out)
{
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++) {
        const struct dsql_fault_state *state = &faults->of[i];
        if (state->chance <= 0 && state->times == 0 && state->ns == 0 && state->struck == 0)
            continue;
        dsql_strbuf_add_str(out, dsql_fault_infos[i].name);
        if (dsql_fault_infos[i].kind != DSQL_FAULT_NOW) /* that is over */
            add_value(out, state);
        if (dsql_fault_infos[i].kind != DSQL_FAULT_LASTING)
            dsql_strbuf_addf(out, " struck=%llu", (unsigned long long)state->struck);
        dsql_strbuf_add_char(out, '\n');
    }
}
