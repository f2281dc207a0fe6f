/* One field by its path, as a command line gives it: "pool.targetReady=80". */
#include "base/nearest.h"
#include "base/shown.h"
#include "sim/shape.h"

static enum dsql_rc no_such_field(const struct dsql_shape *shape, struct dsql_span name,
                                  struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = name};
    (void)dsql_err_set(err, DSQL_INVALID, "%s has no field '%s'", shape->name,
                       dsql_shown(name).text);
    for (size_t i = 0; i < shape->field_count; i++)
        dsql_nearest_see(&nearest, shape->fields[i].name);
    if (nearest.name)
        dsql_err_hint(err, "did you mean '%s'?", nearest.name);
    else
        dsql_err_hint(err, "'dsql sim list --fields' lists them all");
    return DSQL_INVALID;
}

static enum dsql_rc set_plain(const struct dsql_shape_field *field, struct dsql_span text, char *at,
                              struct dsql_err *err)
{
    char expected[512];
    struct dsql_strbuf sb;
    if (dsql_shape_parse(field, text, at))
        return DSQL_OK;
    dsql_strbuf_init(&sb, expected, sizeof(expected));
    dsql_shape_expect(&sb, field);
    return dsql_err_set(err, DSQL_INVALID, "%s: expected %s, not '%s'", field->name, expected,
                        dsql_shown(text).text);
}

static enum dsql_rc set_at(const struct dsql_shape *shape, char *value, struct dsql_span path,
                           struct dsql_span text, struct dsql_err *err)
{
    struct dsql_span name, rest;
    const struct dsql_shape_field *field = NULL;
    (void)dsql_span_cut(path, '.', &name, &rest);
    for (size_t i = 0; i < shape->field_count && !field; i++)
        if (dsql_span_eq(name, dsql_span_of(shape->fields[i].name)))
            field = &shape->fields[i];
    if (!field)
        return no_such_field(shape, name, err);
    char *at = value + field->offset;
    bool is_plain = field->type != DSQL_SHAPE_MAP && field->type != DSQL_SHAPE_LIST;
    if (is_plain && rest.len == 0)
        return set_plain(field, text, at, err);
    if (is_plain)
        return dsql_err_set(err, DSQL_INVALID, "%s has no fields of its own", field->name);
    if (rest.len == 0) {
        (void)dsql_err_set(err, DSQL_INVALID, "%s is no single value", field->name);
        dsql_err_hint(err, "name one of its fields: %s.%s=...", field->name,
                      field->shape->fields[0].name);
        return DSQL_INVALID;
    }
    if (field->type == DSQL_SHAPE_MAP)
        return set_at(field->shape, at, rest, text, err);
    struct dsql_shape_list *list = (struct dsql_shape_list *)(void *)at;
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < list->count && !rc; i++)
        rc = set_at(field->shape, (char *)list->items + i * field->shape->size, rest, text, err);
    return rc;
}

enum dsql_rc dsql_shape_set(const struct dsql_shape *shape, void *value, struct dsql_span setting,
                            struct dsql_err *err)
{
    struct dsql_span path, text;
    if (!dsql_span_cut(setting, '=', &path, &text))
        return dsql_err_set(err, DSQL_INVALID, "'%s': expected FIELD=VALUE",
                            dsql_shown(setting).text);
    return set_at(shape, value, path, text, err);
}
