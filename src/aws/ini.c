#include "aws/ini.h"

void dsql_ini_init(struct dsql_ini *ini, struct dsql_span text)
{
    if (dsql_span_starts(text, DSQL_SPAN("\xef\xbb\xbf"))) /* some editors' mark of UTF-8 */
        text = dsql_span_from(text, 3);
    *ini = (struct dsql_ini){.rest = text};
}

static size_t indent_of(struct dsql_span line)
{
    size_t n = 0;
    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
        n++;
    return n;
}

static bool is_comment(struct dsql_span s)
{
    return s.len == 0 || s.ptr[0] == '#' || s.ptr[0] == ';';
}

/* "[name]", with anything that is a comment behind it. */
static bool read_section(struct dsql_span s, struct dsql_span *section)
{
    struct dsql_span inside, behind;
    if (!dsql_span_cut(dsql_span_from(s, 1), ']', &inside, &behind) ||
        !is_comment(dsql_span_trim(behind)))
        return false;
    *section = dsql_span_trim(inside);
    return section->len > 0;
}

static bool read_value(struct dsql_span s, struct dsql_span *key, struct dsql_span *value)
{
    size_t at = 0;
    while (at < s.len && s.ptr[at] != '=' && s.ptr[at] != ':')
        at++;
    if (at == s.len)
        return false;
    *key = dsql_span_trim(dsql_span_first(s, at));
    *value = dsql_span_trim(dsql_span_from(s, at + 1));
    return key->len > 0;
}

enum dsql_ini_item dsql_ini_next(struct dsql_ini *ini, struct dsql_span *key,
                                 struct dsql_span *value)
{
    while (ini->rest.len > 0) {
        struct dsql_span line, text;
        (void)dsql_span_cut(ini->rest, '\n', &line, &ini->rest);
        ini->line++;
        text = dsql_span_trim(line);
        if (is_comment(text))
            continue;
        size_t indent = indent_of(line);
        if (ini->has_key && indent > ini->indent)
            continue;
        if (text.ptr[0] == '[') {
            ini->has_key = false;
            ini->in_section = read_section(text, &ini->section);
            return ini->in_section ? DSQL_INI_SECTION : DSQL_INI_BROKEN;
        }
        if (!ini->in_section || !read_value(text, key, value))
            return DSQL_INI_BROKEN;
        ini->has_key = true;
        ini->indent = indent;
        return DSQL_INI_VALUE;
    }
    return DSQL_INI_END;
}

struct dsql_span dsql_ini_uncommented(struct dsql_span value)
{
    for (size_t i = 1; i < value.len; i++)
        if ((value.ptr[i] == '#' || value.ptr[i] == ';') &&
            (value.ptr[i - 1] == ' ' || value.ptr[i - 1] == '\t'))
            return dsql_span_trim(dsql_span_first(value, i));
    return value;
}
