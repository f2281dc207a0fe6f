#include "proxy/users.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"

enum { FILE_MAX = 16 << 20, SECRET_MAX = 2048 };

static int by_name(const void *a, const void *b)
{
    const struct dsql_user *first = a, *second = b;
    return strcmp(first->name, second->name);
}

/* One quoted word off the front; false if there is none or it does not fit. */
static bool take_word(struct dsql_span *rest, struct dsql_strbuf *word)
{
    struct dsql_span s = dsql_span_trim(*rest);
    size_t i = 1;
    if (s.len == 0 || s.ptr[0] != '"')
        return false;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '"' && (i + 1 == s.len || s.ptr[i + 1] != '"'))
            break;
        i += s.ptr[i] == '"';
        dsql_strbuf_add_char(word, s.ptr[i]);
    }
    if (i >= s.len || word->cut)
        return false;
    *rest = dsql_span_from(s, i + 1);
    return true;
}

static bool is_md5(struct dsql_span secret)
{
    return secret.len == 35 && dsql_span_starts(secret, DSQL_SPAN("md5"));
}

static const char *take_line(struct dsql_span line, struct dsql_user *user)
{
    char memory[SECRET_MAX];
    struct dsql_strbuf name, secret;
    const char *wrong = NULL;
    dsql_strbuf_init(&name, user->name, sizeof(user->name));
    dsql_strbuf_init(&secret, memory, sizeof(memory));
    if (!take_word(&line, &name) || name.len == 0)
        wrong = "a name in quotes, of at most 63 bytes, is expected";
    else if (!take_word(&line, &secret))
        wrong = "a password in quotes is expected behind the name";
    else if (is_md5(dsql_strbuf_span(&secret)))
        wrong = "MD5 hashes can't be used with SCRAM; write the user's SCRAM-SHA-256 verifier";
    else if (dsql_scram_verifier_parse(dsql_strbuf_span(&secret), &user->verifier))
        user->has_verifier = true;
    else if (dsql_span_starts(dsql_strbuf_span(&secret), DSQL_SPAN("SCRAM-SHA-256$")))
        wrong = "the SCRAM-SHA-256 verifier is malformed";
    else if (secret.len == 0)
        wrong = "the password is empty";
    else if (dsql_secret_set(&user->password, dsql_strbuf_span(&secret)))
        wrong = "out of memory";
    OPENSSL_cleanse(memory, sizeof(memory));
    return wrong;
}

static enum dsql_rc add_line(struct dsql_users *users, struct dsql_span line, size_t number,
                             struct dsql_err *err)
{
    line = dsql_span_trim(line);
    if (line.len == 0 || line.ptr[0] == ';')
        return DSQL_OK;
    if (users->count % 16 == 0) {
        struct dsql_user *more = calloc(users->count + 16, sizeof(*more));
        if (!more)
            return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
        if (users->count > 0)
            memcpy(more, users->users, users->count * sizeof(*more));
        if (users->users)
            OPENSSL_cleanse(users->users, users->count * sizeof(*more));
        free(users->users);
        users->users = more;
    }
    const char *wrong = take_line(line, &users->users[users->count]);
    users->count++;
    return wrong ? dsql_err_set(err, DSQL_INVALID, "line %zu: %s", number, wrong) : DSQL_OK;
}

enum dsql_rc dsql_users_parse(struct dsql_span text, struct dsql_users *users, struct dsql_err *err)
{
    struct dsql_users made = {0};
    struct dsql_span line;
    enum dsql_rc rc = DSQL_OK;
    for (size_t number = 1; !rc && text.len > 0; number++) {
        (void)dsql_span_cut(text, '\n', &line, &text);
        rc = add_line(&made, line, number, err);
    }
    if (!rc && made.count > 1)
        qsort(made.users, made.count, sizeof(*made.users), by_name);
    for (size_t i = 1; !rc && i < made.count; i++)
        if (strcmp(made.users[i - 1].name, made.users[i].name) == 0)
            rc = dsql_err_set(err, DSQL_INVALID, "a user is named twice");
    if (rc) {
        dsql_users_fini(&made);
        return rc;
    }
    dsql_random_bytes(made.mock, sizeof(made.mock));
    *users = made;
    return DSQL_OK;
}

enum dsql_rc dsql_users_load(const char *path, struct dsql_users *users, struct dsql_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = malloc(FILE_MAX);
    size_t len = 0;
    ssize_t got = -1;
    while (fd >= 0 && text && len < FILE_MAX && (got = read(fd, text + len, FILE_MAX - len)) > 0)
        len += (size_t)got;
    enum dsql_rc rc;
    if (got != 0) {
        rc = dsql_err_set(err, DSQL_IO, "the users file %.200s can't be read: %s", path,
                          len == FILE_MAX ? "too large" : strerror(errno));
    } else {
        struct dsql_err why = {0};
        rc = dsql_users_parse((struct dsql_span){text, len}, users, &why);
        if (rc)
            (void)dsql_err_set(err, rc, "the users file %.200s: %.200s", path, why.message);
    }
    if (text)
        OPENSSL_cleanse(text, len);
    free(text);
    if (fd >= 0)
        close(fd);
    return rc;
}

void dsql_users_fini(struct dsql_users *users)
{
    for (size_t i = 0; i < users->count; i++)
        dsql_secret_fini(&users->users[i].password);
    if (users->users)
        OPENSSL_cleanse(users->users, users->count * sizeof(*users->users));
    free(users->users);
    *users = (struct dsql_users){0};
}

bool dsql_users_verifier(struct dsql_users *users, struct dsql_span name,
                         struct dsql_scram_verifier *verifier)
{
    struct dsql_user key = {0};
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, key.name, sizeof(key.name));
    dsql_strbuf_add(&text, name);
    struct dsql_user *user = text.cut || users->count == 0
                                 ? NULL
                                 : bsearch(&key, users->users, users->count, sizeof(key), by_name);
    if (!user) {
        dsql_scram_verifier_mock(
            name, (struct dsql_span){(const char *)users->mock, sizeof(users->mock)}, verifier);
        return true;
    }
    if (!user->has_verifier) {
        if (!dsql_scram_verifier_of(dsql_revealed_span(dsql_secret_reveal(&user->password)),
                                    &user->verifier))
            return false;
        user->has_verifier = true;
        dsql_secret_fini(&user->password);
    }
    *verifier = user->verifier;
    return true;
}
