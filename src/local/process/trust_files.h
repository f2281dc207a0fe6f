/*
 * What programs trust that know only one file of authorities: the system's and the endpoint's own
 * in one, so that their other connections go on working. bundle.pem is for OpenSSL, Go, Python and
 * Rust; trust.p12 is the same for the JVM.
 */
#ifndef DSQL_LOCAL_TRUST_FILES_H
#define DSQL_LOCAL_TRUST_FILES_H

#include "local/process/folder.h"

#define DSQL_TRUST_BUNDLE         "bundle.pem"
#define DSQL_TRUST_STORE          "trust.p12"
#define DSQL_TRUST_STORE_PASSWORD "changeit" /* Java's own default; nothing in it is secret */

/* Writes both files into the folder, from its ca.pem and the file `roots`. If that is NULL or can't
 * be read, the endpoint's own authority is alone in them. */
DSQL_MUST_USE enum dsql_rc dsql_trust_files_write(const struct dsql_folder *folder,
                                                  const char *roots, struct dsql_err *err);

#endif
