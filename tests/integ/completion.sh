#!/bin/bash
# The bash completion completes commands, options and operands.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
"$dsql" completion bash >"$scratch/dsql.bash"
bash -n "$scratch/dsql.bash"

complete_words() { # the words typed so far, the last one being completed
    bash -c '
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        compopt() { :; }
        _dsql; echo "${COMPREPLY[*]}"' _ "$scratch/dsql.bash" "$@"
}
[ "$(complete_words dsql co)" = 'config completion' ] || fail "$(complete_words dsql co)"
[ "$(complete_words dsql config --j)" = '--json' ] || fail "$(complete_words dsql config --j)"
[ "$(complete_words dsql help me)" = 'metrics' ] || fail "$(complete_words dsql help me)"
[ "$(complete_words dsql help --man)" = '--man-pages=' ] || fail "$(complete_words dsql help --man)"
[ "$(complete_words dsql completion '')" = 'bash --help' ] || fail "$(complete_words dsql completion '')"
