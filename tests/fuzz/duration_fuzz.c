/* What parses formats, and parses back to the same value. */
#include "base/duration.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t ns, again;
    if (!dsql_duration_parse((struct dsql_span){(const char *)data, size}, &ns))
        return 0;
    char text[DSQL_DURATION_TEXT_MAX];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_duration_format(&sb, ns);
    assert(!sb.cut);
    bool ok = dsql_duration_parse(dsql_strbuf_span(&sb), &again);
    assert(ok && again == ns);
    return 0;
}
