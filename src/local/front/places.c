#include "local/front/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void dsql_places_fini(struct dsql_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        dsql_sql_script_unref(places->list[i].script);
    free(places->list);
    *places = (struct dsql_places){.list = NULL};
}

bool dsql_places_sent(struct dsql_places *places, uint64_t number, struct dsql_sql_script *script)
{
    if (script->edits.count == 0)
        return true;
    if (!DSQL_GROW(places->list, places->cap, places->count + 1))
        return false;
    places->list[places->count++] = (struct dsql_place){number, dsql_sql_script_ref(script)};
    return true;
}

const struct dsql_sql_script *dsql_places_find(struct dsql_places *places, uint64_t number)
{
    size_t gone = 0;
    while (gone < places->count && places->list[gone].number < number)
        dsql_sql_script_unref(places->list[gone++].script);
    places->count -= gone;
    if (gone > 0)
        memmove(places->list, places->list + gone, places->count * sizeof(*places->list));
    return places->count > 0 && places->list[0].number == number ? places->list[0].script : NULL;
}
