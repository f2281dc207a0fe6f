#include "aws/uri.h"

static bool is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static void add_encoded_byte(struct dsql_strbuf *sb, unsigned char c)
{
    static const char hex[] = "0123456789ABCDEF";
    if (is_unreserved(c)) {
        dsql_strbuf_add_char(sb, (char)c);
    } else {
        char escape[3] = {'%', hex[c >> 4], hex[c & 15]};
        dsql_strbuf_add(sb, (struct dsql_span){escape, sizeof(escape)});
    }
}

void dsql_uri_add_encoded(struct dsql_strbuf *sb, struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        add_encoded_byte(sb, (unsigned char)s.ptr[i]);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Takes the next byte, decoded, off the front of *s: -1 at the end, -2 at a broken escape. */
static int next_byte(struct dsql_span *s)
{
    if (s->len == 0)
        return -1;
    int byte = (unsigned char)s->ptr[0];
    size_t used = 1;
    if (byte == '%') {
        int high = s->len >= 3 ? hex_value(s->ptr[1]) : -1;
        int low = s->len >= 3 ? hex_value(s->ptr[2]) : -1;
        if (high < 0 || low < 0)
            return -2;
        byte = high * 16 + low;
        used = 3;
    }
    *s = dsql_span_from(*s, used);
    return byte;
}

bool dsql_uri_add_decoded(struct dsql_strbuf *sb, struct dsql_span s)
{
    int byte;
    while ((byte = next_byte(&s)) >= 0)
        dsql_strbuf_add_char(sb, (char)byte);
    return byte == -1;
}

/* Takes back the last segment, but never the path's first slash, which stands at `start`. */
static void drop_segment(struct dsql_strbuf *sb, size_t start)
{
    if (sb->len <= start + 1)
        return;
    sb->len--; /* the slash that ends it */
    while (sb->ptr[sb->len - 1] != '/')
        sb->len--;
    sb->ptr[sb->len] = '\0';
}

static void add_normal_path(struct dsql_strbuf *sb, struct dsql_span path)
{
    size_t start = sb->len;
    bool more = true;
    dsql_strbuf_add_char(sb, '/');
    /* At the top of the loop what is written ends in a slash; a cut buffer stays as it is. */
    while (more && !sb->cut) {
        struct dsql_span segment;
        more = dsql_span_cut(path, '/', &segment, &path);
        if (dsql_span_eq(segment, DSQL_SPAN(".."))) {
            drop_segment(sb, start);
        } else if (segment.len > 0 && !dsql_span_eq(segment, DSQL_SPAN("."))) {
            dsql_uri_add_encoded(sb, segment);
            if (more)
                dsql_strbuf_add_char(sb, '/');
        }
    }
}

void dsql_uri_add_canonical_path(struct dsql_strbuf *sb, struct dsql_span path, bool normalize)
{
    if (normalize) {
        add_normal_path(sb, path);
        return;
    }
    if (path.len == 0)
        dsql_strbuf_add_char(sb, '/');
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '/')
            dsql_strbuf_add_char(sb, '/');
        else
            add_encoded_byte(sb, (unsigned char)path.ptr[i]);
    }
}

bool dsql_uri_next_param(struct dsql_span *query, struct dsql_span *name, struct dsql_span *value)
{
    struct dsql_span part = {"", 0};
    while (part.len == 0 && query->len > 0)
        (void)dsql_span_cut(*query, '&', &part, query);
    (void)dsql_span_cut(part, '=', name, value);
    return part.len > 0;
}

struct param {
    struct dsql_span name, value; /* as they stand in the query */
};

/* Where a decoded byte sorts by its encoded form: '%' comes before every unreserved character. */
static int weight(int byte)
{
    return byte >= 0 && is_unreserved((unsigned char)byte) ? 256 + byte : byte;
}

/* Orders two texts by what they look like decoded and encoded again. */
static int compare_encoded(struct dsql_span a, struct dsql_span b)
{
    for (;;) {
        int x = weight(next_byte(&a)), y = weight(next_byte(&b));
        if (x != y || x < 0)
            return x - y;
    }
}

static bool is_after(const struct param *a, const struct param *b)
{
    int order = compare_encoded(a->name, b->name);
    return order > 0 || (order == 0 && compare_encoded(a->value, b->value) > 0);
}

static bool is_sound(struct dsql_span s)
{
    int byte;
    while ((byte = next_byte(&s)) >= 0)
        continue;
    return byte == -1;
}

static bool is_among(struct dsql_span name, const struct dsql_span *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dsql_span_eq(name, names[i]))
            return true;
    return false;
}

static void add_reencoded(struct dsql_strbuf *sb, struct dsql_span s)
{
    int byte;
    while ((byte = next_byte(&s)) >= 0)
        add_encoded_byte(sb, (unsigned char)byte);
}

enum dsql_rc dsql_uri_add_canonical_query(struct dsql_strbuf *sb, struct dsql_span query,
                                          const struct dsql_span *skip, size_t skip_count,
                                          struct dsql_err *err)
{
    struct param params[DSQL_URI_PARAMS_MAX], next;
    size_t count = 0;
    while (dsql_uri_next_param(&query, &next.name, &next.value)) {
        if (is_among(next.name, skip, skip_count))
            continue;
        if (!is_sound(next.name) || !is_sound(next.value))
            return dsql_err_set(err, DSQL_INVALID, "a query parameter has a broken %% escape");
        if (count == DSQL_COUNT_OF(params))
            return dsql_err_set(err, DSQL_LIMIT, "more than %d query parameters",
                                DSQL_URI_PARAMS_MAX);
        size_t at = count++;
        for (; at > 0 && is_after(&params[at - 1], &next); at--)
            params[at] = params[at - 1];
        params[at] = next;
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            dsql_strbuf_add_char(sb, '&');
        add_reencoded(sb, params[i].name);
        dsql_strbuf_add_char(sb, '=');
        add_reencoded(sb, params[i].value);
    }
    return DSQL_OK;
}
