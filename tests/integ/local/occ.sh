#!/bin/bash
# Conflicts at COMMIT: scripts of concurrent sessions with every answer they must get.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" local exec -- "$BUILD_DIR/tests/occ_script" "$SOURCE_DIR"/tests/vectors/occ/*.txt
contains "$out" 'answers as expected'
