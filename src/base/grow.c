#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_AT_FIRST = 8 };

bool dsql_grow(void *items, size_t *room, size_t need, size_t size)
{
    void *before, *grown;
    if (need <= *room)
        return true;
    size_t wanted = *room ? 2 * *room : ROOM_AT_FIRST;
    wanted = wanted > need ? wanted : need;
    memcpy(&before, items, sizeof(before)); /* a pointer of any type */
    grown = reallocarray(before, wanted, size);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof(grown)); /* the array has it now */
    *room = wanted;
    /* cppcheck-suppress memleak */
    return true;
}
