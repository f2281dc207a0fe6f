#include "local/process/cluster_name.h"

#include <stdio.h>

#include "base/rng.h"
#include "local/process/base32_id.h"

#define ID_FILE      "cluster_id"
#define THROWAWAY_ID "dsqllocaldsqllocaldsqlloca"
static_assert(sizeof(THROWAWAY_ID) == DSQL_BASE32_ID_LEN + 1, "as long as an id");

static bool is_id(struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
              (text.ptr[i] >= '0' && text.ptr[i] <= '9')))
            return false;
    return text.len == DSQL_BASE32_ID_LEN;
}

static enum dsql_rc make_id(const struct dsql_folder *folder, char id[DSQL_BASE32_ID_LEN + 1],
                            struct dsql_err *err)
{
    unsigned char bytes[DSQL_BASE32_ID_BYTES];
    dsql_random_bytes(bytes, sizeof(bytes));
    dsql_base32_id(bytes, id);
    return dsql_folder_write(folder, ID_FILE, 0644, dsql_span_of(id), err);
}

/* The folder's own id, made if it has none. */
static enum dsql_rc take_id(const struct dsql_folder *folder, char id[DSQL_BASE32_ID_LEN + 1],
                            struct dsql_err *err)
{
    char memory[2 * DSQL_BASE32_ID_LEN];
    size_t len = 0;
    enum dsql_rc rc = dsql_folder_read(folder, ID_FILE, memory, sizeof(memory), &len, err);
    if (rc == DSQL_NOT_FOUND)
        return make_id(folder, id, err);
    if (rc)
        return rc;
    struct dsql_span text = dsql_span_trim((struct dsql_span){memory, len});
    if (!is_id(text))
        return dsql_err_set(err, DSQL_INVALID,
                            "%.200s/" ID_FILE " does not hold 26 letters and digits; remove it to "
                            "have a new id made",
                            folder->path);
    memcpy(id, text.ptr, text.len);
    id[text.len] = '\0';
    return DSQL_OK;
}

enum dsql_rc dsql_cluster_name(const struct dsql_folder *folder, const char *region,
                               char (*name)[254], struct dsql_err *err)
{
    char id[DSQL_BASE32_ID_LEN + 1] = THROWAWAY_ID;
    enum dsql_rc rc = folder->throwaway ? DSQL_OK : take_id(folder, id, err);
    if (!rc)
        (void)snprintf(*name, sizeof(*name), "%s.dsql.%s.on.aws", id, region);
    return rc;
}
