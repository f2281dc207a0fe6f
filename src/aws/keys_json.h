/* Credentials as JSON: what the metadata services and a credential_process write. */
#ifndef DSQL_AWS_KEYS_JSON_H
#define DSQL_AWS_KEYS_JSON_H

#include "aws/keys.h"

enum dsql_keys_form {
    DSQL_KEYS_METADATA, /* AccessKeyId, SecretAccessKey, Token, Expiration, perhaps Code */
    DSQL_KEYS_PROCESS,  /* Version 1, AccessKeyId, SecretAccessKey, SessionToken, Expiration */
};

/*
 * DSQL_PROTOCOL if the text is no such JSON; the message names the member that is missing or wrong,
 * never a value. DSQL_DENIED if it is a refusal: its Code and Message are in the message. On
 * failure *keys is untouched.
 */
DSQL_MUST_USE enum dsql_rc dsql_keys_parse_json(enum dsql_keys_form form, struct dsql_span text,
                                                struct dsql_keys *keys, struct dsql_err *err);

#endif
