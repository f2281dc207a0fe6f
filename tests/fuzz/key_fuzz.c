/* Any text as a key: what is decoded encodes to the same text again. */
#include <stdlib.h>

#include "support/fuzz.h"
#include "temporal/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_span text = {(const char *)data, size};
    char *bytes = malloc(size + 1), *again = malloc(size + 1);
    size_t len = 0;
    assert(bytes && again);
    if (dsql_key_decode(text, bytes, &len)) {
        struct dsql_span key = {bytes, len};
        assert(dsql_key_size(key) == size);
        dsql_key_encode(key, again);
        assert(memcmp(again, data, size) == 0);
    }
    free(bytes);
    free(again);
    return 0;
}
