/* The texts of the schemas and their parts. The texts are our own, so a line that is not understood
 * is a programmer's error: an assert says so, and a test reads it all. */
#include "schema/schema.h"

/* The file itself, by the assembler: no copy of it in C to fall behind. */
#define EMBED(name, file)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".balign 16\n"                                                                         \
            "dsql_schema_" name "_begin:\n"                                                        \
            ".incbin \"" file "\"\n"                                                               \
            "dsql_schema_" name "_end:\n"                                                          \
            ".byte 0\n"                                                                            \
            ".balign 8\n"                                                                          \
            "dsql_schema_" name "_size: .quad dsql_schema_" name "_end - dsql_schema_" name        \
            "_begin\n"                                                                             \
            ".previous\n")

EMBED("store", DSQL_SCHEMA_STORE_FILE);
extern const char dsql_schema_store_begin[];
extern const uint64_t dsql_schema_store_size;

static struct dsql_span store_text(void)
{
    return (struct dsql_span){dsql_schema_store_begin, dsql_schema_store_size};
}

EMBED("visibility", DSQL_SCHEMA_VISIBILITY_FILE);
extern const char dsql_schema_visibility_begin[];
extern const uint64_t dsql_schema_visibility_size;

static struct dsql_span visibility_text(void)
{
    return (struct dsql_span){dsql_schema_visibility_begin, dsql_schema_visibility_size};
}

const struct dsql_schema dsql_schema_store = {
    .name = "store",
    .version = "1.19",
    .version_table = "schema_version",
    .history_table = "schema_update_history",
    .text = store_text,
};
const struct dsql_schema dsql_schema_visibility = {
    .name = "visibility",
    .version = "1.0",
    .version_table = "visibility_schema_version",
    .history_table = "visibility_schema_history",
    .text = visibility_text,
};

/* Removes a word and the blank behind it. */
static bool take(struct dsql_span *text, const char *word)
{
    struct dsql_span wanted = dsql_span_of(word);
    if (!dsql_span_starts(*text, wanted))
        return false;
    *text = dsql_span_trim(dsql_span_from(*text, wanted.len));
    return true;
}

static struct dsql_span next_word(struct dsql_span *text)
{
    struct dsql_span word;
    dsql_span_cut(*text, ' ', &word, text);
    return word;
}

static void read_step(struct dsql_span text, struct dsql_schema_step *step)
{
    *step = (struct dsql_schema_step){.text = text};
    if (take(&text, "CREATE TABLE IF NOT EXISTS")) {
        step->kind = DSQL_SCHEMA_TABLE;
        step->name = step->table = next_word(&text);
    } else if (take(&text, "INSERT INTO")) {
        step->kind = DSQL_SCHEMA_ROW;
        step->name = step->table = next_word(&text);
        return;
    } else {
        step->kind = DSQL_SCHEMA_INDEX;
        bool created = take(&text, "CREATE");
        step->unique = take(&text, "UNIQUE");
        created = created && take(&text, "INDEX ASYNC IF NOT EXISTS");
        step->name = next_word(&text);
        created = created && take(&text, "ON");
        step->table = next_word(&text);
        assert(created);
    }
    const char *where = memmem(text.ptr, text.len, ") WHERE ", 8);
    if (where) {
        step->where = dsql_span_from(text, (size_t)(where + 8 - text.ptr));
        text = dsql_span_first(text, (size_t)(where + 1 - text.ptr));
    }
    assert(text.len >= 2 && text.ptr[0] == '(' && text.ptr[text.len - 1] == ')');
    step->body = (struct dsql_span){text.ptr + 1, text.len - 2};
}

bool dsql_schema_next(struct dsql_span *rest, struct dsql_schema_step *step)
{
    struct dsql_span line;
    for (;;) { /* comments and blank lines stand between statements only */
        *rest = dsql_span_trim(*rest);
        if (!dsql_span_starts(*rest, DSQL_SPAN("--")))
            break;
        dsql_span_cut(*rest, '\n', &line, rest);
    }
    if (rest->len == 0)
        return false;
    const char *begin = rest->ptr;
    do
        dsql_span_cut(*rest, '\n', &line, rest);
    while (rest->len > 0 && (line.len == 0 || line.ptr[line.len - 1] != ';'));
    assert(line.len > 0 && line.ptr[line.len - 1] == ';');
    read_step((struct dsql_span){begin, (size_t)(line.ptr + line.len - 1 - begin)}, step);
    return true;
}

/* VARCHAR(255) -> character varying(255), as the catalogue shows it. */
static void name_type(struct dsql_span written, char *out, size_t cap)
{
    static const struct {
        const char *written, *shown;
    } names[] = {
        {"SMALLINT", "smallint"},
        {"INTEGER", "integer"},
        {"BIGINT", "bigint"},
        {"UUID", "uuid"},
        {"TEXT", "text"},
        {"BYTEA", "bytea"},
        {"BOOLEAN", "boolean"},
        {"JSONB", "jsonb"},
        {"VARCHAR", "character varying"},
        {"TIMESTAMP", "timestamp without time zone"},
    };
    size_t len = 0;
    while (len < written.len && written.ptr[len] != '(')
        len++;
    struct dsql_span base = dsql_span_first(written, len);
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, out, cap);
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++)
        if (dsql_span_eq(base, dsql_span_of(names[i].written)))
            dsql_strbuf_add_str(&sb, names[i].shown);
    assert(sb.len > 0);
    dsql_strbuf_add(&sb, dsql_span_from(written, len));
    assert(!sb.cut);
}

bool dsql_schema_next_column(struct dsql_span *body, struct dsql_schema_column *column,
                             struct dsql_span *key)
{
    struct dsql_span line;
    *body = dsql_span_trim(*body);
    dsql_span_cut(*body, '\n', &line, body);
    line = dsql_span_trim(line);
    if (take(&line, "PRIMARY KEY")) {
        assert(line.len >= 2 && line.ptr[0] == '(' && line.ptr[line.len - 1] == ')');
        *key = (struct dsql_span){line.ptr + 1, line.len - 2};
        return false;
    }
    assert(line.len > 0 && line.ptr[line.len - 1] == ',');
    line = dsql_span_first(line, line.len - 1);
    column->name = next_word(&line);
    name_type(next_word(&line), column->type, sizeof(column->type));
    column->not_null = dsql_span_eq(line, DSQL_SPAN("NOT NULL"));
    assert(column->not_null || line.len == 0);
    return true;
}

size_t dsql_schema_steps(const struct dsql_schema *schema)
{
    struct dsql_span rest = schema->text();
    struct dsql_schema_step step;
    size_t n = 0;
    while (dsql_schema_next(&rest, &step))
        n++;
    return n;
}

int dsql_schema_version_compare(struct dsql_span a, struct dsql_span b)
{
    while (a.len > 0 || b.len > 0) {
        struct dsql_span part_a, part_b;
        int64_t n_a = 0, n_b = 0;
        dsql_span_cut(a, '.', &part_a, &a);
        dsql_span_cut(b, '.', &part_b, &b);
        (void)dsql_span_to_i64(part_a, &n_a);
        (void)dsql_span_to_i64(part_b, &n_b);
        if (n_a != n_b)
            return n_a < n_b ? -1 : 1;
    }
    return 0;
}
