/* Any bytes as a config or credentials file: what is handed out lies inside the text, trimmed, and
 * looking a value up finds what walking finds. */
#include "aws/ini.h"
#include "aws/profile.h"
#include "support/fuzz.h"

static void check_inside(struct dsql_span part, struct dsql_span text)
{
    assert(part.len == 0 || (part.ptr >= text.ptr && part.ptr + part.len <= text.ptr + text.len));
    assert(dsql_span_trim(part).len == part.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_span text = {(const char *)data, size}, key, value, name, found;
    struct dsql_profiles profiles = {0};
    struct dsql_ini ini;
    enum dsql_ini_item item;
    if (size > 4096 || dsql_secret_set(&profiles.files[DSQL_AWS_CONFIG].text, text))
        return 0;
    text = dsql_revealed_span(dsql_secret_reveal(&profiles.files[DSQL_AWS_CONFIG].text));
    dsql_ini_init(&ini, text);
    while ((item = dsql_ini_next(&ini, &key, &value)) != DSQL_INI_END && item != DSQL_INI_BROKEN) {
        check_inside(ini.section, text);
        bool named = dsql_profile_name(DSQL_AWS_CONFIG, ini.section, &name);
        if (named)
            assert(name.len > 0 && dsql_profiles_has(&profiles, name));
        if (item != DSQL_INI_VALUE)
            continue;
        check_inside(key, text);
        check_inside(value, text);
        check_inside(dsql_ini_uncommented(value), text);
    }
    if (dsql_profiles_get(&profiles, DSQL_SPAN("default"), "aws_access_key_id", &found)) {
        check_inside(found, text);
        assert(found.len > 0 && dsql_profiles_has(&profiles, DSQL_SPAN("default")));
    }
    dsql_profiles_fini(&profiles);
    return 0;
}
