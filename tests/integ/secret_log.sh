#!/bin/bash
# A secret can't be logged: the line does not compile. The same line with a string does.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
try() { # try EXPRESSION
    cat >"$scratch/try.c" <<C
#include "base/log.h"
#include "base/secret.h"
void try_it(struct dsql_log *log, struct dsql_secret secret, const char *text);
void try_it(struct dsql_log *log, struct dsql_secret secret, const char *text)
{
    (void)secret, (void)text;
    dsql_log(log, DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("value", $1));
}
C
    "$CC" -std=c17 -D_GNU_SOURCE -fsyntax-only -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" "$scratch/try.c" \
        >"$scratch/log" 2>&1
}
try text || fail "a string can't be logged: $(cat "$scratch/log")"
! try secret || fail "a secret can be logged"
! try '&secret' || fail "a pointer to a secret can be logged"
