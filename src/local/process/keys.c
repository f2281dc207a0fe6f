#include "local/process/keys.h"

#include "base/rng.h"
#include "base/strbuf.h"

enum { FILE_MAX = 16 << 10 };

static void add_random(struct dsql_strbuf *sb, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char bytes[64];
    assert(len <= sizeof(bytes));
    dsql_random_bytes(bytes, len);
    for (size_t i = 0; i < len; i++)
        dsql_strbuf_add_char(sb, alphabet[bytes[i] % 32]);
    explicit_bzero(bytes, sizeof(bytes));
}

enum dsql_rc dsql_local_keys_make(struct dsql_local_keys *keys, struct dsql_err *err)
{
    struct dsql_strbuf id, secret;
    char memory[48];
    dsql_strbuf_init(&id, keys->access_key_id, sizeof(keys->access_key_id));
    dsql_strbuf_add_str(&id, "AKIALOCAL");
    add_random(&id, 11);
    dsql_strbuf_init(&secret, memory, sizeof(memory));
    add_random(&secret, 40);
    enum dsql_rc rc = dsql_secret_set(&keys->secret_access_key, dsql_strbuf_span(&secret));
    explicit_bzero(memory, sizeof(memory));
    dsql_secret_fini(&keys->session_token);
    return rc ? dsql_err_set(err, rc, "out of memory") : DSQL_OK;
}

void dsql_local_keys_fini(struct dsql_local_keys *keys)
{
    dsql_secret_fini(&keys->secret_access_key);
    dsql_secret_fini(&keys->session_token);
}

bool dsql_local_keys_have_breaks(struct dsql_span text)
{
    return memchr(text.ptr, '\n', text.len) || memchr(text.ptr, '\r', text.len);
}

bool dsql_local_keys_is_id(struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= 'A' && text.ptr[i] <= 'Z') ||
              (text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
              (text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '_'))
            return false;
    return text.len >= 3 && text.len <= 64;
}

enum dsql_rc dsql_local_keys_parse(struct dsql_local_keys *keys, struct dsql_span text)
{
    struct dsql_local_keys read = {.access_key_id = ""};
    enum dsql_rc rc = DSQL_OK;
    struct dsql_span line, name, value;
    while (text.len > 0 && !rc) {
        dsql_span_cut(text, '\n', &line, &text);
        if (line.len == 0)
            continue;
        dsql_span_cut(line, '=', &name, &value);
        if (dsql_span_eq(name, DSQL_SPAN("access_key_id")) && dsql_local_keys_is_id(value)) {
            memcpy(read.access_key_id, value.ptr, value.len);
            read.access_key_id[value.len] = '\0';
        } else if (dsql_span_eq(name, DSQL_SPAN("secret_access_key")) && value.len > 0) {
            rc = dsql_secret_set(&read.secret_access_key, value);
        } else if (dsql_span_eq(name, DSQL_SPAN("session_token")) && value.len > 0) {
            rc = dsql_secret_set(&read.session_token, value);
        } else {
            rc = DSQL_INVALID;
        }
    }
    if (!rc && (!read.access_key_id[0] || dsql_secret_is_empty(&read.secret_access_key)))
        rc = DSQL_INVALID;
    if (rc) {
        dsql_local_keys_fini(&read);
        return rc;
    }
    dsql_local_keys_fini(keys);
    *keys = read;
    return DSQL_OK;
}

enum dsql_rc dsql_local_keys_read(struct dsql_local_keys *keys, const struct dsql_folder *folder,
                                  struct dsql_err *err)
{
    char memory[FILE_MAX];
    size_t len = 0;
    enum dsql_rc rc = dsql_folder_read(folder, "keys", memory, sizeof(memory), &len, err);
    if (rc)
        return rc;
    rc = dsql_local_keys_parse(keys, (struct dsql_span){memory, len});
    explicit_bzero(memory, sizeof(memory));
    return rc ? dsql_err_set(err, rc,
                             "%.200s/keys does not hold keys; remove it to have new ones made",
                             folder->path)
              : DSQL_OK;
}

enum dsql_rc dsql_local_keys_write(const struct dsql_local_keys *keys,
                                   const struct dsql_folder *folder, struct dsql_err *err)
{
    char memory[FILE_MAX];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    dsql_strbuf_addf(&text, "access_key_id=%s\nsecret_access_key=%s\n", keys->access_key_id,
                     dsql_secret_reveal(&keys->secret_access_key).ptr);
    if (!dsql_secret_is_empty(&keys->session_token))
        dsql_strbuf_addf(&text, "session_token=%s\n", dsql_secret_reveal(&keys->session_token).ptr);
    enum dsql_rc rc =
        text.cut ? dsql_err_set(err, DSQL_INVALID, "the keys are longer than %d bytes", FILE_MAX)
                 : dsql_folder_write(folder, "keys", 0600, dsql_strbuf_span(&text), err);
    explicit_bzero(memory, sizeof(memory));
    return rc;
}
