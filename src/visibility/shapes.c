#include "visibility/shapes.h"

#include "base/lock.h"

void dsql_vis_shapes_init(struct dsql_vis_shapes *shapes)
{
    memset(shapes, 0, sizeof(*shapes));
    int failed = pthread_mutex_init(&shapes->lock, NULL);
    assert(!failed);
}

void dsql_vis_shapes_fini(struct dsql_vis_shapes *shapes)
{
    int failed = pthread_mutex_destroy(&shapes->lock);
    assert(!failed);
}

/* FNV-1a. */
static uint64_t hash(uint64_t so_far, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++)
        so_far = (so_far ^ at[i]) * UINT64_C(1099511628211);
    return so_far;
}

uint64_t dsql_vis_shape(const struct dsql_vis_sql *sql)
{
    uint64_t shape = hash(UINT64_C(14695981039346656037), sql->text.ptr, sql->text.len);
    shape = hash(shape, sql->types, sql->count * sizeof(*sql->types));
    return shape ? shape : 1;
}

static bool is_kept(struct dsql_vis_shapes *shapes, uint64_t shape)
{
    for (size_t i = 0; i < shapes->count; i++)
        if (shapes->kept[i] == shape)
            return true;
    uint64_t *seen = &shapes->seen[shape % DSQL_VIS_SHAPES_SEEN];
    bool again = *seen == shape;
    *seen = shape;
    if (!again || shapes->count == DSQL_VIS_SHAPES_MAX)
        return false;
    shapes->kept[shapes->count++] = shape;
    return true;
}

bool dsql_vis_is_common(struct dsql_vis_shapes *shapes, uint64_t shape)
{
    dsql_lock(&shapes->lock);
    bool kept = is_kept(shapes, shape);
    dsql_unlock(&shapes->lock);
    return kept;
}
