#include "aws/sts_xml.h"

#include "aws/amz_time.h"

enum { DEPTH_MAX = 16, TEXT_MAX = 16 * 1024 };

/* A walk over the elements: only one that holds nothing but text is handed out, when it ends. */
struct walk {
    struct dsql_span rest;
    struct dsql_span names[DEPTH_MAX]; /* from the root to where we are */
    size_t depth;
    struct dsql_span text; /* between the last start and end tag, still with entities */
    bool is_leaf, broken;
};

/* "name" of "name attribute='...'"; without a prefix such as ns2: */
static struct dsql_span local_name(struct dsql_span tag)
{
    size_t end = 0, start = 0;
    while (end < tag.len && !strchr(" \t\r\n/", tag.ptr[end]))
        if (tag.ptr[end++] == ':')
            start = end;
    return dsql_span_from(dsql_span_first(tag, end), start);
}

static bool skip_past(struct dsql_span *s, struct dsql_span mark)
{
    for (; s->len >= mark.len; *s = dsql_span_from(*s, 1))
        if (dsql_span_starts(*s, mark)) {
            *s = dsql_span_from(*s, mark.len);
            return true;
        }
    return false;
}

/* One tag, whose '<' is off already. True if a leaf has ended: names[depth] is its name. */
static bool take_tag(struct walk *w)
{
    struct dsql_span tag;
    if (dsql_span_starts(w->rest, DSQL_SPAN("!--"))) {
        w->broken = !skip_past(&w->rest, DSQL_SPAN("-->"));
        return false;
    }
    if (!dsql_span_cut(w->rest, '>', &tag, &w->rest) || tag.len == 0 || tag.ptr[0] == '!') {
        w->broken = true;
        return false;
    }
    if (tag.ptr[0] == '?')
        return false;
    if (tag.ptr[0] == '/') {
        struct dsql_span name = local_name(dsql_span_from(tag, 1));
        if (w->depth == 0 || !dsql_span_eq(name, w->names[w->depth - 1])) {
            w->broken = true;
            return false;
        }
        w->depth--;
        bool leaf = w->is_leaf;
        w->is_leaf = false;
        return leaf;
    }
    if (w->depth == DEPTH_MAX || local_name(tag).len == 0) {
        w->broken = true;
        return false;
    }
    w->is_leaf = false;
    if (tag.ptr[tag.len - 1] == '/') /* <Empty/> */
        return false;
    w->names[w->depth++] = local_name(tag);
    w->is_leaf = true;
    return false;
}

/* The next leaf: its text is w->text. False at the end or when w->broken. */
static bool next_leaf(struct walk *w)
{
    while (w->rest.len > 0 && !w->broken) {
        struct dsql_span text;
        if (!dsql_span_cut(w->rest, '<', &text, &w->rest)) {
            w->broken = dsql_span_trim(text).len > 0 || w->depth > 0;
            return false;
        }
        w->text = text;
        if (take_tag(w))
            return true;
    }
    w->broken = w->broken || w->depth > 0;
    return false;
}

/* Whether the leaf that has just ended is <parent><name>. */
static bool is_at(const struct walk *w, const char *parent, const char *name)
{
    return w->depth >= 1 && dsql_span_eq(w->names[w->depth], dsql_span_of(name)) &&
           dsql_span_eq(w->names[w->depth - 1], dsql_span_of(parent));
}

/* Puts text with its entities resolved into sb. False if one is unknown or it does not fit. */
static bool add_text(struct dsql_strbuf *sb, struct dsql_span text)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    while (text.len > 0) {
        struct dsql_span plain, name;
        bool more = dsql_span_cut(text, '&', &plain, &text);
        dsql_strbuf_add(sb, plain);
        if (!more)
            break;
        if (!dsql_span_cut(text, ';', &name, &text))
            return false;
        size_t i = 0;
        int64_t number = 0;
        while (i < DSQL_COUNT_OF(entities) && !dsql_span_eq(name, dsql_span_of(entities[i].name)))
            i++;
        if (i < DSQL_COUNT_OF(entities))
            dsql_strbuf_add_char(sb, entities[i].c);
        else if (name.len > 1 && name.ptr[0] == '#' &&
                 dsql_span_to_i64(dsql_span_from(name, 1), &number) && number > 0 && number < 128)
            dsql_strbuf_add_char(sb, (char)number);
        else
            return false;
    }
    return !sb->cut;
}

enum { ID, SECRET, SESSION, EXPIRATION, PARTS };
static const char *const part_names[PARTS] = {"AccessKeyId", "SecretAccessKey", "SessionToken",
                                              "Expiration"};

static enum dsql_rc read_parts(struct walk *w, struct dsql_strbuf parts[PARTS],
                               struct dsql_err *err)
{
    bool seen[PARTS] = {false};
    while (next_leaf(w))
        for (size_t i = 0; i < PARTS; i++) {
            if (!is_at(w, "Credentials", part_names[i]))
                continue;
            if (seen[i] || !add_text(&parts[i], dsql_span_trim(w->text)))
                return dsql_err_set(err, DSQL_PROTOCOL, "the answer's <%s> can't be read",
                                    part_names[i]);
            seen[i] = true;
        }
    if (w->broken)
        return dsql_err_set(err, DSQL_PROTOCOL, "the answer is no XML");
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].len == 0)
            return dsql_err_set(err, DSQL_PROTOCOL, "the answer has no <%s>", part_names[i]);
    return DSQL_OK;
}

enum dsql_rc dsql_sts_parse_keys(struct dsql_span xml, struct dsql_keys *keys, struct dsql_err *err)
{
    struct walk w = {.rest = xml};
    char memory[PARTS][TEXT_MAX];
    struct dsql_strbuf parts[PARTS];
    struct dsql_wall expires;
    for (size_t i = 0; i < PARTS; i++)
        dsql_strbuf_init(&parts[i], memory[i], sizeof(memory[i]));
    enum dsql_rc rc = read_parts(&w, parts, err);
    if (!rc && !dsql_amz_time_parse_iso(dsql_strbuf_span(&parts[EXPIRATION]), &expires))
        rc = dsql_err_set(err, DSQL_PROTOCOL, "the answer's <Expiration> is no time");
    if (!rc) {
        rc = dsql_keys_set(keys, dsql_strbuf_span(&parts[ID]), dsql_strbuf_span(&parts[SECRET]),
                           dsql_strbuf_span(&parts[SESSION]), expires, err);
        if (rc == DSQL_INVALID)
            rc = dsql_err_set(err, DSQL_PROTOCOL,
                              "the answer's keys have characters in them that no key has");
    }
    explicit_bzero(memory, sizeof(memory));
    return rc;
}

/* Printable ASCII, one line, cut to fit. */
static void show(char *to, size_t cap, struct dsql_span xml_text)
{
    char memory[1024];
    struct dsql_strbuf text;
    size_t len = 0;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    (void)add_text(&text, dsql_span_trim(xml_text));
    for (; len < text.len && len + 1 < cap; len++)
        to[len] = memory[len] >= ' ' && memory[len] <= '~' ? memory[len] : '?';
    to[len] = '\0';
}

bool dsql_sts_parse_error(struct dsql_span xml, struct dsql_sts_error *error)
{
    struct walk w = {.rest = xml};
    struct dsql_sts_error found = {.code = ""};
    while (next_leaf(&w)) {
        if (is_at(&w, "Error", "Code"))
            show(found.code, sizeof(found.code), w.text);
        else if (is_at(&w, "Error", "Message"))
            show(found.message, sizeof(found.message), w.text);
    }
    if (w.broken || found.code[0] == '\0')
        return false;
    *error = found;
    return true;
}
