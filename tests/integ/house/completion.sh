#!/bin/bash
# The bash completion completes commands, options and operands: with the commands there are, and with a
# table made up for the purpose that has commands of two words.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

completes() { # completes WANTED WORD...: the words typed so far, the last one being completed
    local wanted=$1 got
    shift
    got=$(bash -c '
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        compopt() { :; }
        _dsql; echo "${COMPREPLY[*]}"' _ "$script" "$@")
    [ "$got" = "$wanted" ] || fail "'$*' gives '$got', not '$wanted'"
}

script=$scratch/dsql.bash
"$dsql" completion bash >"$script"
bash -n "$script"
completes 'config completion' dsql co
completes '--json' dsql config --j
completes 'metrics' dsql help me
completes 'visibility version' dsql help v
completes '--man-pages=' dsql help --man
completes 'bash --help' dsql completion ''
completes '' dsql configx --j
completes '' dsql help x config --j

# Every first word is offered once, and so is everything `dsql help` knows.
first_words=$("$dsql" help | awk '/^Commands|Commands;/ {on = 1} /^References/ {on = 0} on && /^  [a-z]/ {
    sub(/^  /, ""); sub(/  .*/, ""); split($0, w, " "); if (!seen[w[1]]++) printf "%s%s", n++ ? " " : "", w[1]}')
contains "$first_words" 'version'
completes "$first_words" dsql ''
completes "$first_words metrics events findings --help --markdown --man-pages=" dsql help ''

# A table of ours in place of src/cli/commands.c.
cat >"$scratch/table.c" <<'C'
#include "cli/help.h"

static const struct dsql_option common[] = {{"json", 0, NULL, "a switch"}, {"port", 0, "N", "a value"}};
static const struct dsql_option some[] = {{"fast", 0, NULL, "a switch"}};
static const struct dsql_command local = {.name = "local", .options = common, .option_count = 2},
                                 exec = {.name = "local exec", .options = some, .option_count = 1},
                                 erase = {.name = "local erase"},
                                 localize = {.name = "localize", .operand_words = "here"},
                                 only = {.name = "only two", .operand_words = "what"};
const struct dsql_command *const dsql_commands[] = {&local, &localize, &exec, &only, &erase};
const size_t dsql_command_count = DSQL_COUNT_OF(dsql_commands);

int main(void)
{
    dsql_help_bash(stdout);
    return 0;
}
C
"$CC" -std=c17 -D_GNU_SOURCE -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" "$scratch/table.c" \
    "$SOURCE_DIR"/src/cli/{args,help,reference,doctor_findings}.c -o "$scratch/table" "$BUILD_DIR/libdsql.a" -lpq -lcurl -ljansson -lcrypto -lpthread
script=$scratch/table.bash
"$scratch/table" >"$script"
bash -n "$script"
completes 'local localize only' dsql ''
completes 'exec erase --help --json --port=' dsql local ''
completes 'exec erase' dsql local e
completes '--help --fast' dsql local exec ''
completes '--help --fast' dsql local exec --fast ''
completes '--help' dsql local erase ''
completes '--help --json --port=' dsql local --json ''
completes 'here --help' dsql localize ''
completes 'two' dsql only ''
completes 'what --help' dsql only two ''
completes 'exec erase' dsql help local ''
