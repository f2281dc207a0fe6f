#include "base/shown.h"

struct dsql_shown dsql_shown(struct dsql_span s)
{
    struct dsql_shown shown;
    size_t len = 0;
    for (; len < s.len && len < DSQL_SHOWN_MAX; len++)
        shown.text[len] = s.ptr[len] >= ' ' && s.ptr[len] <= '~' ? s.ptr[len] : '?';
    memcpy(shown.text + len, len < s.len ? "..." : "", len < s.len ? sizeof("...") : 1);
    return shown;
}
