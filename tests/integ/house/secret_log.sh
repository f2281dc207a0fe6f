#!/bin/bash
# A secret can't be logged, nor what reveals it: the line does not compile. The same line with a string
# does. Neither can a secret be passed where a span is wanted.
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
    compiles
}
try_span() { # try_span EXPRESSION
    cat >"$scratch/try.c" <<C
#include "base/secret.h"
#include "base/strbuf.h"
void try_it(struct dsql_strbuf *sb, struct dsql_secret secret, struct dsql_span text);
void try_it(struct dsql_strbuf *sb, struct dsql_secret secret, struct dsql_span text)
{
    (void)secret, (void)text;
    dsql_strbuf_add(sb, $1);
}
C
    compiles
}
compiles() {
    "$CC" -std=c17 -D_GNU_SOURCE -fsyntax-only -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" "$scratch/try.c" \
        >"$scratch/log" 2>&1
}
try text || fail "a string can't be logged: $(cat "$scratch/log")"
! try secret || fail "a secret can be logged"
! try '&secret' || fail "a pointer to a secret can be logged"
! try 'dsql_secret_reveal(&secret)' || fail "a revealed secret can be logged"
try 'dsql_revealed_span(dsql_secret_reveal(&secret))' || fail "the way out is closed: $(cat "$scratch/log")"
try_span text || fail "a span is not taken: $(cat "$scratch/log")"
! try_span secret || fail "a secret is taken for a span"
! try_span 'dsql_secret_reveal(&secret)' || fail "a revealed secret is taken for a span"

# And what is masked in strings does not get out through the real sink, whatever the form.
cat >"$scratch/mask.c" <<'C'
#include "base/log.h"
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        dsql_log(dsql_log_default(), DSQL_EVENT_CONFIG_ADJUSTED, DSQL_F("detail", argv[i]));
    return 0;
}
C
"$CC" -std=c17 -D_GNU_SOURCE -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" "$scratch/mask.c" \
    -o "$scratch/mask" "$BUILD_DIR/libdsql.a" -lpq -lcurl -ljansson -lcrypto -lpthread
expect 0 "$scratch/mask" \
    'https://h/?Action=DbConnect&X-Amz-Signature=5ec2e7&X-Amz-Date=1' \
    'https://h/?X-Amz-Security-Token=5ec2e7%2F5ec2e7' \
    'Authorization: AWS4-HMAC-SHA256 Credential=AKIA, SignedHeaders=host, Signature=5ec2e7' \
    'x-amz-security-token: 5ec2e7' \
    'x-amz-security-token:5ec2e7' \
    'next=https%3A%2F%2Fh%2F%3FX-Amz-Signature%3D5ec2e7' \
    'X-Amz-Security-Token%3D5ec2e7' \
    '{"X-Amz-Security-Token":"5ec2e7"}'
[ "$(wc -l <"$scratch/err")" = 8 ] || fail "not every line was written: $err"
! grep -q 5ec2e7 "$scratch/err" || fail "a secret was written: $err"
[ "$(grep -c '\*\*\*' "$scratch/err")" = 8 ] || fail "a line without a mask: $err"
