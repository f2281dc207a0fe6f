#include "aws/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/ini.h"
#include "base/shown.h"
#include "base/strbuf.h"

static const struct {
    const char *variable, *below_home;
} places[DSQL_AWS_FILE_COUNT] = {
    [DSQL_AWS_CREDENTIALS] = {"AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"},
    [DSQL_AWS_CONFIG] = {"AWS_CONFIG_FILE", "/.aws/config"},
};

static enum dsql_rc fail_to_read(const char *path, int error, struct dsql_err *err)
{
    char reason[128];
    const char *text = strerror_r(error, reason, sizeof(reason));
    (void)dsql_err_set(err, error == ENOENT || error == ENOTDIR ? DSQL_NOT_FOUND : DSQL_IO,
                       "%s can't be read: %s", dsql_shown_str(path).text, text);
    dsql_err_hint(err, "check the path, and that this process's user may read the file");
    return err ? err->rc : DSQL_IO;
}

/* Until the end of the file or the limit; -1 with errno. */
static ssize_t read_all(int fd, char *memory, size_t cap)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = read(fd, memory + len, cap - len);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        len += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

enum dsql_rc dsql_secret_read_file(const char *path, size_t limit, struct dsql_secret *text,
                                   struct dsql_err *err)
{
    struct dsql_err spare = {0};
    err = err ? err : &spare;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */
    if (fd < 0)
        return fail_to_read(path, errno, err);
    enum dsql_rc rc = DSQL_OK;
    char *memory = malloc(limit + 1);
    ssize_t len = memory ? read_all(fd, memory, limit + 1) : 0;
    if (!memory)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    else if (len < 0)
        rc = fail_to_read(path, errno, err);
    else if ((size_t)len > limit)
        rc = dsql_err_set(err, DSQL_LIMIT, "%s is larger than %zu bytes", dsql_shown_str(path).text,
                          limit);
    else if (dsql_secret_set(text, (struct dsql_span){memory, (size_t)len}))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (memory && len > 0)
        explicit_bzero(memory, (size_t)len);
    free(memory);
    (void)close(fd);
    return rc;
}

bool dsql_profile_name(enum dsql_aws_file file, struct dsql_span section, struct dsql_span *name)
{
    struct dsql_span word = section, rest;
    if (file == DSQL_AWS_CONFIG && !dsql_span_eq(section, DSQL_SPAN("default"))) {
        size_t len = sizeof("profile") - 1;
        if (!dsql_span_starts(section, DSQL_SPAN("profile")) || section.len == len ||
            (section.ptr[len] != ' ' && section.ptr[len] != '\t'))
            return false;
        word = dsql_span_trim(dsql_span_from(section, len));
    }
    if (word.len >= 2 && (word.ptr[0] == '"' || word.ptr[0] == '\'') &&
        dsql_span_cut(dsql_span_from(word, 1), word.ptr[0], &word, &rest) && rest.len > 0)
        return false;
    *name = word;
    return word.len > 0;
}

static struct dsql_span text_of(const struct dsql_profiles *profiles, enum dsql_aws_file file)
{
    return dsql_revealed_span(dsql_secret_reveal(&profiles->files[file].text));
}

/* Every line can be read. What stands in a broken one is not shown: it may be a key. */
static enum dsql_rc check_file(const struct dsql_profiles *profiles, enum dsql_aws_file file,
                               struct dsql_err *err)
{
    struct dsql_ini ini;
    struct dsql_span key, value;
    enum dsql_ini_item item;
    dsql_ini_init(&ini, text_of(profiles, file));
    do
        item = dsql_ini_next(&ini, &key, &value);
    while (item != DSQL_INI_END && item != DSQL_INI_BROKEN);
    if (item == DSQL_INI_END)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_INVALID, "%s, line %u, is neither [section] nor key = value",
                       dsql_shown_str(profiles->files[file].path).text, ini.line);
    dsql_err_hint(err, "mend the line, or put a # in front of it");
    return DSQL_INVALID;
}

/* The variable's path, in which "~/" is the home folder, or the usual place below it. */
static bool find_path(const struct dsql_aws_env *env, enum dsql_aws_file file, char *path,
                      size_t cap)
{
    const char *given = dsql_aws_env_get(env, places[file].variable);
    const char *home = dsql_aws_env_get(env, "HOME");
    bool at_home = !given || strncmp(given, "~/", 2) == 0;
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, path, cap);
    if (at_home && !home)
        return false;
    dsql_strbuf_add_str(&sb, at_home ? home : "");
    dsql_strbuf_add_str(&sb, given ? given + (at_home ? 1 : 0) : places[file].below_home);
    return !sb.cut;
}

enum dsql_rc dsql_profiles_load(struct dsql_profiles *profiles, const struct dsql_aws_env *env,
                                struct dsql_err *err)
{
    memset(profiles, 0, sizeof(*profiles));
    for (enum dsql_aws_file file = 0; file < DSQL_AWS_FILE_COUNT; file++) {
        char *path = profiles->files[file].path;
        if (!find_path(env, file, path, sizeof(profiles->files[file].path))) {
            path[0] = '\0';
            continue;
        }
        enum dsql_rc rc =
            dsql_secret_read_file(path, DSQL_AWS_FILE_MAX, &profiles->files[file].text, err);
        if (rc == DSQL_NOT_FOUND)
            continue;
        if (!rc)
            rc = check_file(profiles, file, err);
        if (rc) {
            dsql_profiles_fini(profiles);
            return rc;
        }
    }
    return DSQL_OK;
}

void dsql_profiles_fini(struct dsql_profiles *profiles)
{
    for (enum dsql_aws_file file = 0; file < DSQL_AWS_FILE_COUNT; file++)
        dsql_secret_fini(&profiles->files[file].text);
}

/* Walks over one file: key is NULL to ask only for the section. */
static bool look_up(const struct dsql_profiles *profiles, enum dsql_aws_file file,
                    struct dsql_span name, const char *key, struct dsql_span *found)
{
    struct dsql_ini ini;
    struct dsql_span word, value, profile;
    bool here = false, any = false;
    dsql_ini_init(&ini, text_of(profiles, file));
    for (;;) {
        switch (dsql_ini_next(&ini, &word, &value)) {
        case DSQL_INI_SECTION:
            here = dsql_profile_name(file, ini.section, &profile) && dsql_span_eq(profile, name);
            any = any || (here && !key);
            break;
        case DSQL_INI_VALUE:
            if (here && key && dsql_span_eq_nocase(word, dsql_span_of(key))) {
                *found = value;
                any = value.len > 0;
            }
            break;
        case DSQL_INI_BROKEN:
        case DSQL_INI_END:
            return any;
        }
    }
}

bool dsql_profiles_has(const struct dsql_profiles *profiles, struct dsql_span name)
{
    return look_up(profiles, DSQL_AWS_CREDENTIALS, name, NULL, NULL) ||
           look_up(profiles, DSQL_AWS_CONFIG, name, NULL, NULL);
}

bool dsql_profiles_get_in(const struct dsql_profiles *profiles, enum dsql_aws_file file,
                          struct dsql_span name, const char *key, struct dsql_span *value)
{
    struct dsql_span found;
    if (!look_up(profiles, file, name, key, &found))
        return false;
    /* A command may well have such characters in it; a shell knows comments itself. */
    *value = strcmp(key, "credential_process") == 0 ? found : dsql_ini_uncommented(found);
    return true;
}

bool dsql_profiles_get(const struct dsql_profiles *profiles, struct dsql_span name, const char *key,
                       struct dsql_span *value)
{
    return dsql_profiles_get_in(profiles, DSQL_AWS_CREDENTIALS, name, key, value) ||
           dsql_profiles_get_in(profiles, DSQL_AWS_CONFIG, name, key, value);
}
