/* The way back from a row's JSON object to the attributes of a record. */
#include <jansson.h>
#include <stdlib.h>

#include "visibility/check.h"

/* types: what the row says of those whose name does not. */
static enum dsql_visibility_type type_of(const char *name, const json_t *value, const json_t *types)
{
    const json_t *said = json_object_get(types, name);
    struct dsql_span text = dsql_span_of(name);
    if (json_is_integer(said) && json_integer_value(said) >= DSQL_VISIBILITY_TEXT &&
        json_integer_value(said) <= DSQL_VISIBILITY_KEYWORD_LIST)
        return (enum dsql_visibility_type)json_integer_value(said);
    if (json_is_array(value))
        return DSQL_VISIBILITY_KEYWORD_LIST;
    if (json_is_boolean(value))
        return DSQL_VISIBILITY_BOOL;
    if (json_is_real(value) ||
        (json_is_integer(value) && dsql_visibility_is_preallocated(text, DSQL_VISIBILITY_DOUBLE)))
        return DSQL_VISIBILITY_DOUBLE;
    if (json_is_integer(value))
        return DSQL_VISIBILITY_INT;
    return dsql_visibility_is_preallocated(text, DSQL_VISIBILITY_TEXT) ? DSQL_VISIBILITY_TEXT
                                                                       : DSQL_VISIBILITY_KEYWORD;
}

/* Room for the values of one object: texts of numbers stand in `numbers`. */
struct room {
    struct dsql_visibility_attribute *attributes;
    struct dsql_slice *values;
    char (*numbers)[32];
    size_t value_count, number_count;
};

static bool make_room(const json_t *object, struct room *room)
{
    const char *name;
    json_t *value;
    size_t values = 1;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) values +=
        json_is_array(value) ? json_array_size(value) : 1;
    room->attributes = calloc(json_object_size(object) + 1, sizeof(*room->attributes));
    room->values = calloc(values, sizeof(*room->values));
    room->numbers = calloc(values, sizeof(*room->numbers));
    return room->attributes && room->values && room->numbers;
}

static struct dsql_slice text_of(struct room *room, const json_t *value)
{
    if (json_is_string(value))
        return dsql_slice(json_string_value(value), json_string_length(value));
    if (json_is_boolean(value))
        return dsql_slice_str(json_is_true(value) ? "true" : "false");
    char *number = room->numbers[room->number_count++];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, number, sizeof(*room->numbers));
    if (json_is_real(value))
        dsql_strbuf_add_f64(&text, json_real_value(value));
    else
        dsql_strbuf_add_i64(&text, json_integer_value(value));
    return dsql_slice(number, text.len);
}

static size_t take_apart(const json_t *object, struct room *room)
{
    const char *name;
    json_t *value;
    const json_t *types = json_object_get(object, DSQL_VISIBILITY_TYPES);
    size_t count = 0;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (value == types)
            continue;
        struct dsql_visibility_attribute *made = &room->attributes[count++];
        *made = (struct dsql_visibility_attribute){
            .name = dsql_slice_str(name),
            .type = type_of(name, value, types),
            .values = room->values + room->value_count,
            .count = json_is_array(value) ? json_array_size(value) : 1,
        };
        for (size_t i = 0; i < made->count; i++)
            room->values[room->value_count++] =
                text_of(room, json_is_array(value) ? json_array_get(value, i) : value);
    }
    return count;
}

/* division and count_keyword point into the object, which goes away. */
static enum dsql_rc keep(struct dsql_visibility_attributes *out, struct dsql_err *err)
{
    size_t division = out->division.len, keyword = out->count_keyword.len;
    dsql_strbuf_add(&out->kept, out->division);
    dsql_strbuf_add(&out->kept, out->count_keyword);
    if (out->kept.cut)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    const char *text = out->kept.ptr ? out->kept.ptr : "";
    out->division = (struct dsql_span){text, division};
    out->count_keyword = (struct dsql_span){text + division, keyword};
    return DSQL_OK;
}

enum dsql_rc dsql_vis_attributes_of_json(struct dsql_span json, const char *mark,
                                         struct dsql_visibility_attributes *out,
                                         struct dsql_err *err)
{
    struct room room = {0};
    json_t *object = json.ptr ? json_loadb(json.ptr, json.len, 0, NULL) : json_object();
    enum dsql_rc rc = DSQL_OK;
    *out = (struct dsql_visibility_attributes){0};
    if (!json_is_object(object))
        rc = dsql_err_set(err, DSQL_INVALID, "search attributes that are no JSON object");
    else if (!make_room(object, &room))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    else
        rc = dsql_visibility_attributes_init(out, room.attributes, take_apart(object, &room), mark,
                                             err);
    free(room.attributes);
    free(room.values);
    free(room.numbers);
    if (!rc)
        rc = keep(out, err);
    json_decref(object);
    return rc;
}
