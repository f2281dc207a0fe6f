/* Any bytes as the JSON of a metadata service or a credential_process: keys that can be used, or an
 * error that says why. */
#include "aws/keys_json.h"
#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int form = DSQL_KEYS_METADATA; form <= DSQL_KEYS_PROCESS; form++) {
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        enum dsql_rc rc = dsql_keys_parse_json(
            (enum dsql_keys_form)form, (struct dsql_span){(const char *)data, size}, &keys, &err);
        assert(rc ? err.message[0] && err.rc == rc && !keys.access_key_id[0]
                  : keys.access_key_id[0] && !dsql_secret_is_empty(&keys.secret_access_key));
        dsql_keys_fini(&keys);
    }
    return 0;
}
