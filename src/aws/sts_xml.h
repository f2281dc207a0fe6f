/*
 * The two answers of AWS's Security Token Service, as XML: credentials or an error. A reader for
 * just that: elements and text; no document type (DSQL_PROTOCOL), attributes are skipped.
 */
#ifndef DSQL_AWS_STS_XML_H
#define DSQL_AWS_STS_XML_H

#include "aws/keys.h"

/* <...Response><...Result><Credentials>...: DSQL_PROTOCOL names the element that is missing or
 * wrong, never its text. On failure *keys is untouched. */
DSQL_MUST_USE enum dsql_rc dsql_sts_parse_keys(struct dsql_span xml, struct dsql_keys *keys,
                                               struct dsql_err *err);

/* <ErrorResponse><Error><Code>, <Message>: false if it is no such document. What is printable of
 * the two, cut to fit. */
struct dsql_sts_error {
    char code[64];
    char message[320];
};
bool dsql_sts_parse_error(struct dsql_span xml, struct dsql_sts_error *error);

#endif
