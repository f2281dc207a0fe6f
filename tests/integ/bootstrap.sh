#!/bin/bash
# On a machine where all is there, scripts/bootstrap says nothing and changes nothing.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 "$SOURCE_DIR/scripts/bootstrap"
[ -z "$out$err" ] || fail "it has something to say: $out $err"
