#include "sim/shape.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "base/shown.h"

struct reader {
    yaml_document_t *document;
    const char *file;
    struct dsql_err *err;
};

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

static struct dsql_span text_of(const yaml_node_t *node)
{
    return (struct dsql_span){(const char *)node->data.scalar.value, node->data.scalar.length};
}

/* What a field takes, for messages and for the reference. */
void dsql_shape_expect(struct dsql_strbuf *sb, const struct dsql_shape_field *field)
{
    switch (field->type) {
    case DSQL_SHAPE_BOOL:
        dsql_strbuf_add_str(sb, "true or false");
        break;
    case DSQL_SHAPE_INT:
        dsql_strbuf_addf(sb, "a whole number from %lld to %lld", (long long)field->low,
                         (long long)field->high);
        break;
    case DSQL_SHAPE_DURATION:
        dsql_strbuf_add_str(sb, "a duration from ");
        dsql_duration_format(sb, field->low);
        dsql_strbuf_add_str(sb, " to ");
        dsql_duration_format(sb, field->high);
        dsql_strbuf_add_str(sb, ", as 90s or 250ms");
        break;
    case DSQL_SHAPE_FRACTION:
        dsql_strbuf_add_str(sb, "a fraction from 0 to 1");
        break;
    case DSQL_SHAPE_TEXT:
        dsql_strbuf_addf(sb, "a text of at most %d bytes", DSQL_SHAPE_TEXT_MAX - 1);
        break;
    case DSQL_SHAPE_CHOICE:
        dsql_strbuf_add_str(sb, "one of ");
        for (const char *const *word = field->words; *word; word++)
            dsql_strbuf_addf(sb, "%s%s", word == field->words ? "" : ", ", *word);
        break;
    case DSQL_SHAPE_MAP:
        dsql_strbuf_add_str(sb, field->shape->name);
        break;
    case DSQL_SHAPE_LIST:
        dsql_strbuf_addf(sb, "a list, each entry %s", field->shape->name);
        break;
    }
}

static enum dsql_rc refuse(const struct reader *reader, const yaml_node_t *node,
                           const struct dsql_shape_field *field)
{
    char expected[512];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, expected, sizeof(expected));
    dsql_shape_expect(&sb, field);
    if (node->type == YAML_SCALAR_NODE) {
        return dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: %s: expected %s, not '%s'",
                            reader->file, line_of(node), field->name, expected,
                            dsql_shown(text_of(node)).text);
    }
    return dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: %s: expected %s, not a %s",
                        reader->file, line_of(node), field->name, expected,
                        node->type == YAML_MAPPING_NODE ? "mapping" : "list");
}

static enum dsql_rc read_map(const struct reader *reader, const yaml_node_t *node,
                             const struct dsql_shape *shape, char *out);

static enum dsql_rc read_list(const struct reader *reader, const yaml_node_t *node,
                              const struct dsql_shape_field *field, struct dsql_shape_list *list)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return refuse(reader, node, field);
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (count > DSQL_SHAPE_LIST_MAX) {
        return dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: %s: at most %d entries",
                            reader->file, line_of(node), field->name, DSQL_SHAPE_LIST_MAX);
    }
    *list = (struct dsql_shape_list){0};
    if (count == 0)
        return DSQL_OK;
    list->items = calloc(count, field->shape->size);
    if (!list->items)
        return dsql_err_set(reader->err, DSQL_NO_MEMORY, "no memory for %s", reader->file);
    for (size_t i = 0; i < count; i++) {
        char *item = (char *)list->items + i * field->shape->size;
        memcpy(item, field->shape->defaults, field->shape->size);
        list->count++;
        const yaml_node_t *entry =
            yaml_document_get_node(reader->document, node->data.sequence.items.start[i]);
        enum dsql_rc rc = read_map(reader, entry, field->shape, item);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

bool dsql_shape_parse(const struct dsql_shape_field *field, struct dsql_span text, void *at)
{
    int64_t number;
    double fraction;
    switch (field->type) {
    case DSQL_SHAPE_BOOL:
        if (!dsql_span_eq(text, DSQL_SPAN("true")) && !dsql_span_eq(text, DSQL_SPAN("false")))
            break;
        *(bool *)at = text.len == 4;
        return true;
    case DSQL_SHAPE_INT:
    case DSQL_SHAPE_DURATION:
        if (!(field->type == DSQL_SHAPE_INT ? dsql_span_to_i64(text, &number)
                                            : dsql_duration_parse(text, &number)) ||
            number < field->low || number > field->high)
            break;
        *(int64_t *)at = number;
        return true;
    case DSQL_SHAPE_FRACTION:
        if (!dsql_span_to_f64(text, &fraction) || fraction < 0 || fraction > 1)
            break;
        memcpy(at, &fraction, sizeof(fraction));
        return true;
    case DSQL_SHAPE_TEXT:
        if (text.len >= DSQL_SHAPE_TEXT_MAX || memchr(text.ptr, '\0', text.len))
            break;
        memcpy(at, text.ptr, text.len);
        ((char *)at)[text.len] = '\0';
        return true;
    case DSQL_SHAPE_CHOICE:
        for (int i = 0; field->words[i]; i++) {
            if (dsql_span_eq(text, dsql_span_of(field->words[i]))) {
                *(int *)at = i;
                return true;
            }
        }
        break;
    case DSQL_SHAPE_MAP:
    case DSQL_SHAPE_LIST:
        break;
    }
    return false;
}

static enum dsql_rc read_scalar(const struct reader *reader, const yaml_node_t *node,
                                const struct dsql_shape_field *field, char *at)
{
    if (node->type == YAML_SCALAR_NODE && dsql_shape_parse(field, text_of(node), at))
        return DSQL_OK;
    return refuse(reader, node, field);
}

static const struct dsql_shape_field *
field_named(const struct reader *reader, const struct dsql_shape *shape, const yaml_node_t *key)
{
    if (key->type != YAML_SCALAR_NODE) {
        (void)dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: a field's name must be a word",
                           reader->file, line_of(key));
        return NULL;
    }
    struct dsql_span name = text_of(key);
    struct dsql_nearest nearest = {.typed = name};
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct dsql_shape_field *field = &shape->fields[i];
        if (dsql_span_eq(name, dsql_span_of(field->name)))
            return field;
        dsql_nearest_see(&nearest, field->name);
    }
    (void)dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: %s has no field '%s'", reader->file,
                       line_of(key), shape->name, dsql_shown(name).text);
    if (nearest.name)
        dsql_err_hint(reader->err, "did you mean '%s'?", nearest.name);
    else
        dsql_err_hint(reader->err, "'dsql sim list --fields' lists them all");
    return NULL;
}

static enum dsql_rc read_map(const struct reader *reader, const yaml_node_t *node,
                             const struct dsql_shape *shape, char *out)
{
    if (node->type != YAML_MAPPING_NODE) {
        return dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: expected %s: fields with values",
                            reader->file, line_of(node), shape->name);
    }
    if (shape->line_offset != SIZE_MAX) {
        size_t line = line_of(node);
        memcpy(out + shape->line_offset, &line, sizeof(line));
    }
    uint64_t seen = 0;
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(reader->document, pair->value);
        const struct dsql_shape_field *field = field_named(reader, shape, key);
        if (!field)
            return DSQL_INVALID;
        uint64_t bit = UINT64_C(1) << (field - shape->fields);
        if (seen & bit) {
            return dsql_err_set(reader->err, DSQL_INVALID, "%s:%zu: %s is given twice",
                                reader->file, line_of(key), field->name);
        }
        seen |= bit;
        char *at = out + field->offset;
        enum dsql_rc rc;
        if (field->type == DSQL_SHAPE_MAP)
            rc = value->type == YAML_MAPPING_NODE ? read_map(reader, value, field->shape, at)
                                                  : refuse(reader, value, field);
        else if (field->type == DSQL_SHAPE_LIST)
            rc = read_list(reader, value, field, (struct dsql_shape_list *)at);
        else
            rc = read_scalar(reader, value, field, at);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

static int step_of(yaml_event_type_t type)
{
    if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
        return 1;
    return type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT ? -1 : 0;
}

/*
 * Refuses a text whose lists and mappings are nested too deep, before libyaml makes a document of
 * it: the time that takes grows with the square of the depth. What is wrong otherwise is left to
 * the caller, who meets it at the same place.
 */
static enum dsql_rc check_depth(struct dsql_span text, const char *file, struct dsql_err *err)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int depth = 0;
    enum dsql_rc rc = DSQL_OK;
    if (!yaml_parser_initialize(&parser))
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %s", file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    for (bool more = true; more && !rc;) {
        if (!yaml_parser_parse(&parser, &event))
            break;
        depth += step_of(event.type);
        if (depth > DSQL_SHAPE_DEPTH_MAX)
            rc = dsql_err_set(err, DSQL_INVALID, "%s:%zu: nested deeper than %d levels", file,
                              event.start_mark.line + 1, DSQL_SHAPE_DEPTH_MAX);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static enum dsql_rc load(const struct dsql_shape *shape, struct dsql_span text, const char *file,
                         char *out, struct dsql_err *err)
{
    yaml_parser_t parser;
    yaml_document_t document;
    enum dsql_rc rc = check_depth(text, file, err);
    if (rc)
        return rc;
    if (!yaml_parser_initialize(&parser))
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %s", file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    if (!yaml_parser_load(&parser, &document)) {
        rc = parser.error == YAML_MEMORY_ERROR
                 ? dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %s", file)
                 : dsql_err_set(err, DSQL_INVALID, "%s:%zu: no YAML: %s", file,
                                parser.problem_mark.line + 1,
                                parser.problem ? parser.problem : "unreadable");
        yaml_parser_delete(&parser);
        return rc;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    struct reader reader = {&document, file, err};
    rc = root ? read_map(&reader, root, shape, out)
              : dsql_err_set(err, DSQL_INVALID, "%s: empty; expected %s", file, shape->name);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return rc;
}

enum dsql_rc dsql_shape_read(const struct dsql_shape *shape, struct dsql_span text,
                             const char *file, void *out, struct dsql_err *err)
{
    char *value = malloc(shape->size);
    if (!value)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %s", file);
    memcpy(value, shape->defaults, shape->size);
    enum dsql_rc rc = load(shape, text, file, value, err);
    if (rc)
        dsql_shape_free(shape, value);
    else
        memcpy(out, value, shape->size);
    free(value);
    return rc;
}

void dsql_shape_free(const struct dsql_shape *shape, void *value)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct dsql_shape_field *field = &shape->fields[i];
        char *at = (char *)value + field->offset;
        if (field->type == DSQL_SHAPE_MAP)
            dsql_shape_free(field->shape, at);
        if (field->type != DSQL_SHAPE_LIST)
            continue;
        struct dsql_shape_list *list = (struct dsql_shape_list *)at;
        for (size_t k = 0; k < list->count; k++)
            dsql_shape_free(field->shape, (char *)list->items + k * field->shape->size);
        free(list->items);
        *list = (struct dsql_shape_list){0};
    }
}

/* -- Back to text. */

/* A plain field's bytes. */
static size_t field_size(const struct dsql_shape_field *field)
{
    switch (field->type) {
    case DSQL_SHAPE_BOOL:
        return sizeof(bool);
    case DSQL_SHAPE_INT:
    case DSQL_SHAPE_DURATION:
        return sizeof(int64_t);
    case DSQL_SHAPE_FRACTION:
        return sizeof(double);
    case DSQL_SHAPE_CHOICE:
        return sizeof(int);
    case DSQL_SHAPE_TEXT:
    case DSQL_SHAPE_MAP:
    case DSQL_SHAPE_LIST:
        break;
    }
    return 0;
}

static bool is_default(const struct dsql_shape_field *field, const char *at, const char *usual)
{
    if (field->type == DSQL_SHAPE_TEXT)
        return strcmp(at, usual) == 0;
    if (field->type == DSQL_SHAPE_LIST)
        return ((const struct dsql_shape_list *)at)->count == 0;
    if (field->type != DSQL_SHAPE_MAP)
        return memcmp(at, usual, field_size(field)) == 0;
    for (size_t i = 0; i < field->shape->field_count; i++) {
        const struct dsql_shape_field *inner = &field->shape->fields[i];
        if (!is_default(inner, at + inner->offset, usual + inner->offset))
            return false;
    }
    return true;
}

static void print_value(const struct dsql_shape_field *field, const char *at, FILE *out)
{
    char text[2 * DSQL_SHAPE_TEXT_MAX];
    struct dsql_strbuf sb;
    double fraction;
    dsql_strbuf_init(&sb, text, sizeof(text));
    switch (field->type) {
    case DSQL_SHAPE_BOOL:
        dsql_strbuf_add_str(&sb, *(const bool *)at ? "true" : "false");
        break;
    case DSQL_SHAPE_INT:
        dsql_strbuf_add_i64(&sb, *(const int64_t *)at);
        break;
    case DSQL_SHAPE_DURATION:
        dsql_duration_format(&sb, *(const int64_t *)at);
        break;
    case DSQL_SHAPE_FRACTION:
        memcpy(&fraction, at, sizeof(fraction));
        dsql_strbuf_addf(&sb, "%g", fraction);
        break;
    case DSQL_SHAPE_CHOICE:
        dsql_strbuf_add_str(&sb, field->words[*(const int *)at]);
        break;
    case DSQL_SHAPE_TEXT:
        dsql_strbuf_add_json(&sb, dsql_span_of(at));
        break;
    case DSQL_SHAPE_MAP:
    case DSQL_SHAPE_LIST:
        break;
    }
    fputs(text, out);
}

/* {a: 1, b: {c: 2}} */
static void print_flow(const struct dsql_shape *shape, const char *value, const char *usual,
                       FILE *out)
{
    const char *before = "{";
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct dsql_shape_field *field = &shape->fields[i];
        const char *at = value + field->offset, *usually = usual + field->offset;
        if (is_default(field, at, usually))
            continue;
        fprintf(out, "%s%s: ", before, field->name);
        before = ", ";
        if (field->type == DSQL_SHAPE_MAP)
            print_flow(field->shape, at, usually, out);
        else
            print_value(field, at, out);
    }
    fputs(*before == '{' ? "{}" : "}", out);
}

void dsql_shape_print(const struct dsql_shape *shape, const void *value, FILE *out)
{
    const char *usual = shape->defaults;
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct dsql_shape_field *field = &shape->fields[i];
        const char *at = (const char *)value + field->offset;
        if (is_default(field, at, usual + field->offset))
            continue;
        fprintf(out, "%s: ", field->name);
        if (field->type == DSQL_SHAPE_MAP) {
            print_flow(field->shape, at, usual + field->offset, out);
        } else if (field->type == DSQL_SHAPE_LIST) {
            const struct dsql_shape_list *list = (const struct dsql_shape_list *)at;
            const struct dsql_shape *inner = field->shape;
            for (size_t k = 0; k < list->count; k++) {
                fputs("\n  - ", out);
                print_flow(inner, (const char *)list->items + k * inner->size, inner->defaults,
                           out);
            }
        } else {
            print_value(field, at, out);
        }
        fputc('\n', out);
    }
}

static void describe(const struct dsql_shape *shape, const char *indent, FILE *out)
{
    char text[512];
    struct dsql_strbuf sb;
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct dsql_shape_field *field = &shape->fields[i];
        dsql_strbuf_init(&sb, text, sizeof(text));
        dsql_shape_expect(&sb, field);
        fprintf(out, "%s%s: %s\n%s    %s\n", indent, field->name, text, indent, field->doc);
        if (field->shape)
            describe(field->shape, *indent ? "        " : "    ", out);
    }
}

void dsql_shape_describe(const struct dsql_shape *shape, FILE *out)
{
    describe(shape, "", out);
}
