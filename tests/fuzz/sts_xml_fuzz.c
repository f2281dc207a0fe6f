/* Any bytes as an answer of STS: keys that can be used, or an error that says why. */
#include "aws/sts_xml.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_span xml = {(const char *)data, size};
    struct dsql_keys keys = {0};
    struct dsql_err err = {0};
    struct dsql_sts_error error;
    enum dsql_rc rc = dsql_sts_parse_keys(xml, &keys, &err);
    assert(rc ? err.message[0] && !keys.access_key_id[0]
              : keys.access_key_id[0] && !dsql_secret_is_empty(&keys.secret_access_key) &&
                    !dsql_secret_is_empty(&keys.session_token));
    dsql_keys_fini(&keys);
    if (dsql_sts_parse_error(xml, &error))
        for (const char *c = error.message; *c; c++)
            assert(*c >= ' ' && *c <= '~');
    return 0;
}
