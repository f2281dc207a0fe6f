#include "local/rules/sql_tree.h"

#include <stdlib.h>

static const struct dsql_tree absent = {NULL};

/* From an opening quote to behind the closing one. */
static const char *skip_string(const char *p)
{
    for (p++; *p != '"'; p++) {
        assert(*p != '\0');
        if (*p == '\\')
            p++;
    }
    return p + 1;
}

/* To behind the value that begins at p. */
static const char *skip_value(const char *p)
{
    /* Most characters between strings are punctuation; of these only brackets matter. */
    static const signed char turns[256] = {['{'] = 1, ['['] = 1, ['}'] = -1, [']'] = -1};
    if (*p != '{' && *p != '[')
        return *p == '"' ? skip_string(p) : p + strcspn(p, ",}]");
    size_t depth = 0;
    do {
        if (*p == '"') {
            p = skip_string(p);
        } else {
            assert(*p != '\0');
            depth += (size_t)turns[(unsigned char)*p];
            p++;
        }
    } while (depth > 0);
    return p;
}

static struct dsql_span key_at(const char *p)
{
    const char *end = skip_string(p);
    return (struct dsql_span){p + 1, (size_t)(end - p) - 2};
}

struct dsql_tree dsql_tree_get(struct dsql_tree object, const char *key)
{
    if (!object.ptr || *object.ptr != '{')
        return absent;
    struct dsql_span wanted = dsql_span_of(key);
    const char *p = object.ptr + 1;
    while (*p == '"') {
        struct dsql_span found = key_at(p);
        p = found.ptr + found.len + 2; /* the quote and the colon */
        if (dsql_span_eq(found, wanted))
            return (struct dsql_tree){p};
        p = skip_value(p);
        if (*p == ',')
            p++;
    }
    return absent;
}

struct dsql_tree dsql_tree_first(struct dsql_tree list)
{
    if (!list.ptr || *list.ptr != '[' || list.ptr[1] == ']')
        return absent;
    return (struct dsql_tree){list.ptr + 1};
}

struct dsql_tree dsql_tree_next(struct dsql_tree element)
{
    if (!element.ptr)
        return absent;
    const char *p = skip_value(element.ptr);
    if (*p != ',')
        return absent;
    return (struct dsql_tree){p + 1};
}

size_t dsql_tree_count(struct dsql_tree list)
{
    size_t count = 0;
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e))
        count++;
    return count;
}

struct dsql_tree dsql_tree_open(struct dsql_tree node, struct dsql_span *tag)
{
    *tag = DSQL_SPAN("");
    if (!node.ptr || node.ptr[0] != '{' || node.ptr[1] != '"')
        return absent;
    *tag = key_at(node.ptr + 1);
    return (struct dsql_tree){tag->ptr + tag->len + 2};
}

struct dsql_tree dsql_tree_as(struct dsql_tree node, const char *tag)
{
    struct dsql_span found;
    struct dsql_tree inner = dsql_tree_open(node, &found);
    return dsql_span_eq(found, dsql_span_of(tag)) ? inner : absent;
}

bool dsql_tree_is(struct dsql_tree value, const char *text)
{
    return value.ptr && *value.ptr == '"' && dsql_span_eq(key_at(value.ptr), dsql_span_of(text));
}

static unsigned hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return (unsigned)((c | 0x20) - 'a') + 10;
}

/* libpg_query escapes control characters and < > only, so that \uXXXX never needs more than a byte.
 */
static const char *add_escape(const char *p, struct dsql_strbuf *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (*p == 'u') {
        dsql_strbuf_add_char(out, (char)(hex_digit(p[3]) << 4 | hex_digit(p[4])));
        return p + 5;
    }
    const char *named = strchr(from, *p);
    dsql_strbuf_add_char(out, named ? to[named - from] : *p);
    return p + 1;
}

void dsql_tree_text(struct dsql_tree value, struct dsql_strbuf *out)
{
    if (!value.ptr || *value.ptr != '"')
        return;
    for (const char *p = value.ptr + 1; *p != '"';) {
        if (*p == '\\')
            p = add_escape(p + 1, out);
        else
            dsql_strbuf_add_char(out, *p++);
    }
}

char *dsql_tree_dup(struct dsql_tree value)
{
    size_t cap = value.ptr && *value.ptr == '"' ? key_at(value.ptr).len + 1 : 1;
    char *memory = malloc(cap);
    if (!memory)
        return NULL;
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, cap);
    dsql_tree_text(value, &text);
    return memory;
}

struct dsql_tree dsql_tree_string(struct dsql_tree node)
{
    return dsql_tree_get(dsql_tree_as(node, "String"), "sval");
}

bool dsql_tree_true(struct dsql_tree value)
{
    return value.ptr && *value.ptr == 't';
}

static bool int_of_text(struct dsql_tree value, int64_t *out)
{
    char memory[32];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    dsql_tree_text(value, &text);
    return !text.cut && dsql_span_to_i64(dsql_strbuf_span(&text), out);
}

bool dsql_tree_int(struct dsql_tree value, int64_t *out)
{
    struct dsql_span tag;
    struct dsql_tree inner = dsql_tree_open(value, &tag);
    if (dsql_span_eq(tag, DSQL_SPAN("A_Const"))) {
        value = inner;
        inner = dsql_tree_open(value, &tag); /* {"ival":{"ival":1},...} */
    }
    if (dsql_span_eq(tag, DSQL_SPAN("Float")) || dsql_span_eq(tag, DSQL_SPAN("fval")))
        return int_of_text(dsql_tree_get(inner, "fval"), out);
    if (dsql_span_eq(tag, DSQL_SPAN("Integer")) || dsql_span_eq(tag, DSQL_SPAN("ival"))) {
        value = dsql_tree_get(inner, "ival");
        if (!value.ptr) {
            *out = 0;
            return true;
        }
    }
    if (!value.ptr || *value.ptr == '{')
        return false;
    return dsql_span_to_i64((struct dsql_span){value.ptr, strcspn(value.ptr, ",}]")}, out);
}

struct dsql_tree dsql_tree_member(struct dsql_tree object, struct dsql_tree before,
                                  struct dsql_span *key)
{
    const char *p = before.ptr ? skip_value(before.ptr) : object.ptr;
    if (!p || (*p != ',' && *p != '{') || p[1] != '"')
        return absent;
    *key = key_at(p + 1);
    return (struct dsql_tree){key->ptr + key->len + 2};
}

struct dsql_tree_walk dsql_tree_walk(struct dsql_tree value)
{
    return (struct dsql_tree_walk){.at = value.ptr};
}

bool dsql_tree_step(struct dsql_tree_walk *walk)
{
    const char *p = walk->at;
    if (!p)
        return false;
    do {
        if (*p == '"') {
            struct dsql_span string = key_at(p);
            p = string.ptr + string.len + 1;
            if (*p == ':') {
                walk->key = string;
                walk->at = p + 1;
                walk->value = (struct dsql_tree){walk->at};
                return true;
            }
        } else {
            assert(*p != '\0');
            if (*p == '{' || *p == '[')
                walk->depth++;
            else if (*p == '}' || *p == ']')
                walk->depth--;
            p++;
        }
    } while (walk->depth > 0);
    walk->at = NULL;
    return false;
}
