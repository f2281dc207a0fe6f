#include "support/outcome_script.h"

#include "base/strbuf.h"

static const char *const kinds[OP_KINDS] = {
    "read",     "write",     "rows",   "hidden",  "fence",   "hidden-fence",
    "raising",  "duplicate", "error",  "syntax",  "two",     "control",
    "copy-out", "copy-in",   "forget", "discard", "prepare", "take-wrong"};
static const char *const hows[HOW_COUNT] = {"exec", "defer", "send"};
static const char *const modes[MODE_COUNT] = {"run", "manual", "single", "single-manual", "script"};
static const char *const faults[FAULT_COUNT] = {
    "none",         "conflict",           "conflict-commit",
    "unavailable",  "unavailable-commit", "unavailable-applied",
    "close-commit", "close-applied",      "slow"};
static const char *const befores[BEFORE_COUNT] = {"nothing", "forget", "drop-ours", "take-name",
                                                  "own"};

static int draw(struct prop *p, int bound)
{
    return (int)prop_below(p, (uint64_t)bound);
}

/* Most often the plainest one. */
static int draw_rare(struct prop *p, int bound, int one_in)
{
    return draw(p, one_in) == one_in - 1 ? draw(p, bound) : 0;
}

static bool has_fence(const struct script_op *op)
{
    return op->kind == OP_FENCE || op->kind == OP_HIDDEN_FENCE || op->kind == OP_RAISING;
}

/* What fails by itself is drawn seldom, more so where the endpoint has a fault: a transaction that
 * does not come to its COMMIT tells nothing of it. */
static void draw_op(struct prop *p, bool faulty, struct script_op *op)
{
    static const int rows[] = {1, 0, 2, 9};
    bool any = draw(p, faulty ? 16 : 5) == 4;
    op->kind = (enum script_op_kind)draw(p, any ? OP_KINDS : OP_RAISING + 1);
    op->how = (enum script_how)draw(p, HOW_COUNT);
    op->prepared = draw(p, 2);
    op->rows = rows[draw(p, 4)];
    if (has_fence(op) && op->rows == 0 && draw(p, faulty ? 16 : 4) != 3)
        op->rows = 1;
    op->fence_rows = draw(p, faulty ? 16 : 4) == 3 ? draw(p, 3) : draw(p, 2) * op->rows;
    op->variant = draw(p, 16);
}

bool script_is_single(const struct script *s)
{
    return s->mode == MODE_SINGLE || s->mode == MODE_SINGLE_MANUAL ||
           (s->mode == MODE_SCRIPT && s->ops == 1 && !s->settles);
}

static bool is_run(const struct script *s)
{
    return s->mode == MODE_RUN || s->mode == MODE_SINGLE || s->mode == MODE_SCRIPT;
}

void script_draw(struct prop *p, int64_t serial, struct script *out)
{
    static const enum dsql_rc ends[] = {DSQL_NOT_FOUND, DSQL_CONFLICT, DSQL_LOST,
                                        DSQL_COMMIT_UNKNOWN, DSQL_CONDITION_FAILED};
    *out = (struct script){.serial = serial, .cancel_at = -1};
    out->before = (enum script_before)draw_rare(p, BEFORE_COUNT, 3);
    out->mode = (enum script_mode)draw(p, MODE_COUNT);
    out->fault = (enum script_fault)draw_rare(p, FAULT_COUNT, 2);
    out->retries = draw(p, 3);
    out->ignores = draw(p, 2);
    out->rolls_back = draw(p, 8) == 7;
    out->settles = (out->mode == MODE_RUN || out->mode == MODE_SCRIPT) && draw(p, 4) == 3;
    out->body_rc = draw(p, 6) == 5 ? ends[draw(p, DSQL_COUNT_OF(ends))] : DSQL_OK;
    out->ops = script_is_single(out) && draw(p, 4) < 3 ? 1 : draw(p, SCRIPT_OPS_MAX + 1);
    for (int i = 0; i < out->ops; i++)
        draw_op(p, out->fault != FAULT_NONE, &out->op[i]);
    if (draw(p, 16) == 15)
        out->cancel_at = draw(p, SCRIPT_OPS_MAX + 1);
    if (out->fault == FAULT_SLOW)
        out->deadline_ms = 1 + draw(p, 60);
    if (out->mode == MODE_SCRIPT) {
        out->ignores = out->rolls_back = false;
        out->body_rc = DSQL_OK;
    }
}

void script_show(const struct script *s, char *out, size_t cap)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    dsql_strbuf_addf(&sb, "%s before %s fault %s retries %d%s%s%s ends %s", modes[s->mode],
                     befores[s->before], faults[s->fault], s->retries, s->settles ? " settles" : "",
                     s->ignores ? " ignores" : "", s->rolls_back ? " rolls-back" : "",
                     dsql_rc_name(s->body_rc));
    if (s->cancel_at >= 0)
        dsql_strbuf_addf(&sb, " cancel-at %d", s->cancel_at);
    if (s->deadline_ms)
        dsql_strbuf_addf(&sb, " deadline %d ms", s->deadline_ms);
    for (int i = 0; i < s->ops; i++) {
        const struct script_op *op = &s->op[i];
        dsql_strbuf_addf(&sb, "; %s %s%s rows %d of %d variant %d", hows[op->how], kinds[op->kind],
                         op->prepared ? " prepared" : "", op->rows, op->fence_rows, op->variant);
    }
}

/* -- What must become of it. */

int script_rows(const struct script *s, int try_number, int op, int64_t *first)
{
    enum { ROWS = 16 };
    const struct script_op *o = &s->op[op];
    *first = ((s->serial * (SCRIPT_TRIES_MAX + 1) + try_number) * SCRIPT_OPS_MAX + op) * ROWS;
    switch ((int)o->kind) {
    case OP_WRITE:
    case OP_DUPLICATE:
        return 1;
    case OP_ROWS:
    case OP_FENCE:
    case OP_RAISING:
        return o->rows;
    case OP_HIDDEN:
    case OP_HIDDEN_FENCE:
        return o->rows + 1;
    }
    return 0;
}

/* Whether it passes, on its own. */
static bool passes(const struct script_op *op)
{
    switch ((int)op->kind) {
    case OP_READ:
    case OP_WRITE:
    case OP_ROWS:
    case OP_HIDDEN:
    case OP_FORGET:
    case OP_PREPARE:
        return true;
    case OP_FENCE:
    case OP_HIDDEN_FENCE:
    case OP_RAISING:
        return op->fence_rows ? op->rows == op->fence_rows : op->rows > 0;
    }
    return false;
}

bool script_applies_at_once(const struct script *s)
{
    if (!script_is_single(s) || s->ops == 0 || s->mode == MODE_SCRIPT)
        return false;
    const struct script_op *op = &s->op[0];
    if (!passes(op) || op->how != HOW_EXEC || op->kind == OP_READ || s->cancel_at == 0)
        return false;
    if (op->kind == OP_ROWS)
        return op->rows > 0;
    return !has_fence(op) || (op->kind == OP_RAISING && op->fence_rows == 0);
}

/* A script can expect only what the server raises. */
static bool is_refused(const struct script *s, const struct script_op *op)
{
    return s->mode == MODE_SCRIPT && has_fence(op) &&
           (op->kind != OP_RAISING || op->fence_rows != 0);
}

static bool fails_in_body(const struct script *s)
{
    for (int i = 0; i < s->ops; i++)
        if (!passes(&s->op[i]) || is_refused(s, &s->op[i]))
            return true;
    return script_is_single(s) && s->ops > 1;
}

static bool may_lose_the_answer(const struct script *s)
{
    switch ((int)s->fault) {
    case FAULT_UNAVAILABLE:
        return script_is_single(s); /* an error that leaves open whether it was carried out */
    case FAULT_UNAVAILABLE_COMMIT:
    case FAULT_UNAVAILABLE_APPLIED:
    case FAULT_CLOSE_COMMIT:
    case FAULT_CLOSE_APPLIED:
        return !s->settles;
    case FAULT_SLOW:
        return true;
    }
    return false;
}

enum script_said script_said(enum dsql_rc rc)
{
    if (rc == DSQL_OK || rc == DSQL_APPLIED)
        return SAID_APPLIED;
    return rc == DSQL_COMMIT_UNKNOWN ? SAID_UNKNOWN : SAID_NOT;
}

unsigned script_allowed(const struct script *s)
{
    bool gives_up = s->body_rc != DSQL_OK || (!is_run(s) && s->rolls_back);
    bool ok = !fails_in_body(s) && !gives_up && s->cancel_at < 0;
    unsigned said = ok || script_applies_at_once(s) ? SAID_APPLIED : SAID_NOT;
    if (s->cancel_at >= 0 && s->cancel_at >= s->ops)
        said = SAID_APPLIED | SAID_NOT; /* it may have nothing left to wait for */
    if (s->fault != FAULT_NONE) {
        bool repeats = (s->fault == FAULT_CONFLICT || s->fault == FAULT_CONFLICT_COMMIT) &&
                       is_run(s) && s->retries > 0;
        said |= repeats ? 0U : (unsigned)SAID_NOT;
    }
    return said | (may_lose_the_answer(s) ? (unsigned)SAID_UNKNOWN : 0U);
}
