#include "base/nearest.h"

void dsql_nearest_see(struct dsql_nearest *nearest, const char *name)
{
    size_t distance = dsql_span_distance(nearest->typed, dsql_span_of(name));
    if (dsql_span_is_near(nearest->typed, distance) &&
        (!nearest->name || distance < nearest->distance)) {
        nearest->name = name;
        nearest->distance = distance;
    }
}
