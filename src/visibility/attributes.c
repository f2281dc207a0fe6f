#include "visibility/attributes.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "pgwire/oid.h"
#include "visibility/keys.h"

enum { SIZE_MAX_BYTES = 8 << 20 };

struct posting {
    struct dsql_span name, value;
    char number[DSQL_VISIBILITY_NUMBER_LEN]; /* what value is, of a number */
};

struct builder {
    struct dsql_visibility_attributes *out;
    struct posting *postings;
    size_t count, room;
    struct dsql_err *err;
};

static struct dsql_span span_of(struct dsql_slice slice)
{
    return (struct dsql_span){slice.ptr ? slice.ptr : "", slice.ptr ? slice.len : 0};
}

/* A text that the database takes: UTF-8 without a zero byte. */
static bool is_text(struct dsql_span text)
{
    while (text.len > 0) {
        size_t len = text.ptr[0] ? dsql_utf8_len(text) : 0;
        if (len == 0)
            return false;
        text = dsql_span_from(text, len);
    }
    return true;
}

static enum dsql_rc wrong_value(const struct builder *builder, struct dsql_span name,
                                struct dsql_span value, const char *wanted)
{
    return dsql_err_set(builder->err, DSQL_INVALID,
                        "the search attribute %.100s: '%.100s' is no %s", dsql_shown(name).text,
                        dsql_shown(value).text, wanted);
}

static struct posting *post(struct builder *builder, struct dsql_span name, struct dsql_span value)
{
    if (!DSQL_GROW(builder->postings, builder->room, builder->count + 1))
        return NULL;
    struct posting *made = &builder->postings[builder->count++];
    *made = (struct posting){.name = name, .value = value};
    return made;
}

/* The value is in `number`, wherever the posting moves to. */
static const struct dsql_span in_number = {NULL, DSQL_VISIBILITY_NUMBER_LEN};

static struct dsql_span value_of(const struct posting *posting)
{
    return posting->value.ptr ? posting->value
                              : (struct dsql_span){posting->number, posting->value.len};
}

static enum dsql_rc add_int(struct builder *builder, struct dsql_span name, struct dsql_span text)
{
    int64_t value;
    if (!dsql_visibility_parse_i64(text, &value))
        return wrong_value(builder, name, text, "integer");
    dsql_strbuf_add_i64(&builder->out->json, value);
    struct posting *made = post(builder, name, in_number);
    if (made)
        dsql_visibility_key_i64(value, made->number);
    return made ? DSQL_OK : DSQL_NO_MEMORY;
}

static enum dsql_rc add_double(struct builder *builder, struct dsql_span name,
                               struct dsql_span text)
{
    double value;
    if (!dsql_visibility_parse_f64(text, &value))
        return wrong_value(builder, name, text, "number");
    dsql_strbuf_add_f64(&builder->out->json, value);
    struct posting *made = post(builder, name, in_number);
    if (made)
        dsql_visibility_key_f64(value, made->number);
    return made ? DSQL_OK : DSQL_NO_MEMORY;
}

static enum dsql_rc add_bool(struct builder *builder, struct dsql_span name, struct dsql_span text)
{
    bool is_true = dsql_span_eq(text, DSQL_SPAN("true"));
    if (!is_true && !dsql_span_eq(text, DSQL_SPAN("false")))
        return wrong_value(builder, name, text, "boolean: true or false");
    dsql_strbuf_add(&builder->out->json, text);
    return post(builder, name, is_true ? DSQL_SPAN("1") : DSQL_SPAN("0")) ? DSQL_OK
                                                                          : DSQL_NO_MEMORY;
}

static enum dsql_rc add_words(struct builder *builder, struct dsql_span name, struct dsql_span text)
{
    struct dsql_span word;
    while (dsql_visibility_next_word(&text, &word))
        if (!post(builder, name, dsql_visibility_cut(word)))
            return DSQL_NO_MEMORY;
    return DSQL_OK;
}

static enum dsql_rc add_value(struct builder *builder,
                              const struct dsql_visibility_attribute *attribute,
                              struct dsql_span text)
{
    struct dsql_span name = span_of(attribute->name);
    switch (attribute->type) {
    case DSQL_VISIBILITY_INT:
        return add_int(builder, name, text);
    case DSQL_VISIBILITY_DOUBLE:
        return add_double(builder, name, text);
    case DSQL_VISIBILITY_BOOL:
        return add_bool(builder, name, text);
    case DSQL_VISIBILITY_DATETIME:
        if (!dsql_visibility_is_datetime(text))
            return wrong_value(builder, name, text, "time such as 2006-01-02T15:04:05.000000000Z");
        break;
    case DSQL_VISIBILITY_TEXT:
    case DSQL_VISIBILITY_KEYWORD:
    case DSQL_VISIBILITY_KEYWORD_LIST:
        if (!is_text(text))
            return wrong_value(builder, name, text, "UTF-8 text without a zero byte");
        break;
    }
    dsql_strbuf_add_json(&builder->out->json, text);
    if (attribute->type == DSQL_VISIBILITY_TEXT)
        return add_words(builder, name, text);
    text = dsql_visibility_cut(text);
    if (dsql_span_eq(name, DSQL_SPAN(DSQL_VISIBILITY_DIVISION))) {
        builder->out->division = text; /* a part of keys */
        return DSQL_OK;
    }
    if (dsql_span_eq(name, DSQL_SPAN(DSQL_VISIBILITY_COUNT_KEYWORD)))
        builder->out->count_keyword = text;
    return post(builder, name, text) ? DSQL_OK : DSQL_NO_MEMORY;
}

static enum dsql_rc add_attribute(struct builder *builder,
                                  const struct dsql_visibility_attribute *attribute)
{
    struct dsql_strbuf *json = &builder->out->json;
    struct dsql_span name = span_of(attribute->name);
    bool list = attribute->type == DSQL_VISIBILITY_KEYWORD_LIST;
    enum dsql_rc rc = DSQL_OK;
    if (name.len == 0 || name.len > DSQL_VISIBILITY_VALUE_MAX || !is_text(name))
        return dsql_err_set(builder->err, DSQL_INVALID, "'%.100s' is no name of a search attribute",
                            dsql_shown(name).text);
    if (attribute->type < DSQL_VISIBILITY_TEXT || attribute->type > DSQL_VISIBILITY_KEYWORD_LIST ||
        (!list && attribute->count != 1))
        return dsql_err_set(builder->err, DSQL_INVALID,
                            "the search attribute %.100s of type %d has %zu values",
                            dsql_shown(name).text, (int)attribute->type, attribute->count);
    dsql_strbuf_add_char(json, json->len == 0 ? '{' : ',');
    dsql_strbuf_add_json(json, name);
    dsql_strbuf_add_str(json, list ? ":[" : ":");
    for (size_t i = 0; !rc && i < attribute->count; i++) {
        if (i > 0)
            dsql_strbuf_add_char(json, ',');
        rc = add_value(builder, attribute, span_of(attribute->values[i]));
    }
    if (list)
        dsql_strbuf_add_char(json, ']');
    return rc;
}

bool dsql_visibility_is_preallocated(struct dsql_span name, enum dsql_visibility_type type)
{
    struct dsql_span temporal = DSQL_SPAN("Temporal"),
                     its = type == DSQL_VISIBILITY_TEXT ? DSQL_SPAN("Text") : DSQL_SPAN("Double");
    if (dsql_span_starts(name, temporal))
        name = dsql_span_from(name, temporal.len);
    if (!dsql_span_starts(name, its) || name.len != its.len + 2)
        return false;
    name = dsql_span_from(name, its.len);
    return name.ptr[0] >= '0' && name.ptr[0] <= '9' && name.ptr[1] >= '0' && name.ptr[1] <= '9';
}

static bool needs_type(const struct dsql_visibility_attribute *attribute)
{
    return (attribute->type == DSQL_VISIBILITY_TEXT || attribute->type == DSQL_VISIBILITY_DOUBLE) &&
           !dsql_visibility_is_preallocated(span_of(attribute->name), attribute->type);
}

static void add_types(struct dsql_strbuf *json, const struct dsql_visibility_attribute *attributes,
                      size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++) {
        if (!needs_type(&attributes[i]))
            continue;
        dsql_strbuf_add_str(json, some ? "," : ",\"" DSQL_VISIBILITY_TYPES "\":{");
        dsql_strbuf_add_json(json, span_of(attributes[i].name));
        dsql_strbuf_addf(json, ":%d", (int)attributes[i].type);
        some = true;
    }
    dsql_strbuf_add_str(json, some ? "}" : "");
}

static int compare_spans(struct dsql_span a, struct dsql_span b)
{
    size_t least = a.len < b.len ? a.len : b.len;
    int order = least > 0 ? memcmp(a.ptr, b.ptr, least) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_postings(const void *a, const void *b)
{
    const struct posting *one = a, *other = b;
    int order = compare_spans(one->name, other->name);
    return order ? order : compare_spans(value_of(one), value_of(other));
}

/* A word may stand twice in a text, and two long values may have the same beginning. */
static void drop_duplicates(struct builder *builder)
{
    size_t kept = 0;
    if (builder->count > 1)
        qsort(builder->postings, builder->count, sizeof(*builder->postings), compare_postings);
    for (size_t i = 0; i < builder->count; i++)
        if (i == 0 || compare_postings(&builder->postings[kept - 1], &builder->postings[i]) != 0)
            builder->postings[kept++] = builder->postings[i];
    builder->count = kept;
}

static void add_u32(struct dsql_strbuf *array, uint32_t value)
{
    const char bytes[] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8),
                          (char)value};
    dsql_strbuf_add(array, (struct dsql_span){bytes, sizeof(bytes)});
}

/* The head of an array of texts in PostgreSQL's binary form; array_add() adds each. */
static void array_begin(struct dsql_strbuf *array, size_t count)
{
    add_u32(array, count > 0); /* dimensions */
    add_u32(array, 0);         /* no NULLs */
    add_u32(array, DSQL_OID_TEXT);
    if (count > 0) {
        add_u32(array, (uint32_t)count);
        add_u32(array, 1); /* the first index */
    }
}

static void array_add(struct dsql_strbuf *array, struct dsql_span text)
{
    add_u32(array, (uint32_t)text.len);
    dsql_strbuf_add(array, text);
}

static void add_arrays(struct builder *builder)
{
    struct dsql_visibility_attributes *out = builder->out;
    array_begin(&out->names, builder->count);
    array_begin(&out->values, builder->count);
    for (size_t i = 0; i < builder->count; i++) {
        array_add(&out->names, builder->postings[i].name);
        array_add(&out->values, value_of(&builder->postings[i]));
    }
    out->postings = builder->count;
}

const char *dsql_visibility_mark(int64_t start_us, int64_t close_us)
{
    if (close_us == DSQL_VISIBILITY_OPEN)
        return NULL;
    if (close_us < start_us)
        return DSQL_VISIBILITY_SKEW;
    /* Unsigned: the times may be as far apart as they can. */
    bool is_long = (uint64_t)close_us - (uint64_t)start_us > DSQL_VISIBILITY_LONG_US;
    return is_long ? DSQL_VISIBILITY_LONG : NULL;
}

/* Postings stay sorted: the names of marks come before all others. */
static enum dsql_rc add_marks(struct builder *builder, const char *mark)
{
    bool many = builder->count > DSQL_VISIBILITY_POSTINGS_MAX;
    if (many)
        builder->count = 0;
    if (many && !post(builder, DSQL_SPAN(DSQL_VISIBILITY_MANY), DSQL_SPAN("1")))
        return DSQL_NO_MEMORY;
    if (mark && !post(builder, dsql_span_of(mark), DSQL_SPAN("1")))
        return DSQL_NO_MEMORY;
    drop_duplicates(builder);
    return DSQL_OK;
}

enum dsql_rc dsql_visibility_attributes_init(struct dsql_visibility_attributes *out,
                                             const struct dsql_visibility_attribute *attributes,
                                             size_t count, const char *mark, struct dsql_err *err)
{
    struct builder builder = {.out = out, .err = err};
    enum dsql_rc rc = DSQL_OK;
    *out = (struct dsql_visibility_attributes){.division = {"", 0}, .count_keyword = {"", 0}};
    dsql_strbuf_init_heap(&out->json, SIZE_MAX_BYTES);
    dsql_strbuf_init_heap(&out->names, SIZE_MAX_BYTES);
    dsql_strbuf_init_heap(&out->values, SIZE_MAX_BYTES);
    dsql_strbuf_init_heap(&out->kept, SIZE_MAX_BYTES);
    for (size_t i = 0; !rc && i < count; i++)
        rc = add_attribute(&builder, &attributes[i]);
    if (out->json.len > 0) {
        add_types(&out->json, attributes, count);
        dsql_strbuf_add_char(&out->json, '}');
    }
    if (!rc) {
        drop_duplicates(&builder);
        rc = add_marks(&builder, mark);
    }
    if (!rc)
        add_arrays(&builder);
    if (!rc && (out->json.cut || out->names.cut || out->values.cut))
        rc = DSQL_NO_MEMORY;
    if (rc == DSQL_NO_MEMORY)
        rc = dsql_err_set(err, rc, "no memory for %zu search attributes", count);
    free(builder.postings);
    return rc;
}

void dsql_visibility_attributes_fini(struct dsql_visibility_attributes *attributes)
{
    dsql_strbuf_fini(&attributes->json);
    dsql_strbuf_fini(&attributes->names);
    dsql_strbuf_fini(&attributes->values);
    dsql_strbuf_fini(&attributes->kept);
}
