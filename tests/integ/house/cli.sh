#!/bin/bash
# The frame of the command line: help, mistakes, exit statuses, output that can't be written.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" help
overview=$out
for command in config help token version completion; do
    contains "$overview" "  $command"
    expect 0 "$dsql" "$command" --help
    contains "$out" "Usage: dsql $command"
    expect 0 "$dsql" help "$command"
done
expect 0 "$dsql" --help
expect 0 "$dsql" --version
version=$(sed -n 's/#define DSQL_VERSION_[A-Z]* //p' "$SOURCE_DIR/include/dsql/version.h" | paste -sd.)
[ "$out" = "dsql $version" ] || fail "version: $out"
expect 0 "$dsql" version
[ "$out" = "dsql $version" ] || fail "version: $out"

expect 2 "$dsql"
contains "$err" 'Usage: dsql COMMAND'
expect 2 "$dsql" confg
[ "$err" = "dsql: 'confg' is no command; did you mean 'dsql config'?" ] || fail "$err"
expect 2 "$dsql" config --jsn
[ "$err" = "dsql: 'dsql config' has no option --jsn; did you mean --json?" ] || fail "$err"
expect 2 "$dsql" help nobody
[ "$err" = "dsql: 'nobody' is no command and no reference; 'dsql help' lists them" ] || fail "$err"
expect 2 "$dsql" help metrcs
[ "$err" = "dsql: 'metrcs' is no command and no reference; did you mean 'dsql help metrics'?" ] || fail "$err"
expect 2 "$dsql" help completon
contains "$err" "did you mean 'dsql help completion'?"
expect 2 "$dsql" completion tcsh
expect 2 "$dsql" help version --markdown
contains "$err" 'dsql help config | metrics | events'
expect 2 "$dsql" help --markdown

# Words that remain are no help.
for words in 'config foo' 'version foo' 'config version'; do
    # shellcheck disable=SC2086 # two words
    expect 2 "$dsql" help $words
    [ "$err" = "dsql: 'dsql ${words% *}' does not expect '${words#* }'; see 'dsql help ${words% *}'" ] || fail "$err"
done
expect 2 "$dsql" help metrics foo
[ "$err" = "dsql: 'dsql help metrics' does not expect 'foo'" ] || fail "$err"

# Groups show their commands, whichever way they are asked; every one with an example.
declare -A groups=([local]='exec fault env status' [schema]='apply verify version drop'
    [sim]='run list plan fuzz' [budget]='setup status release repair')
for group in "${!groups[@]}"; do
    expect 0 "$dsql" "$group" --help
    shown=$out
    contains "$shown" "
    dsql $group "
    for command in ${groups[$group]}; do
        [[ $shown =~ "  $group $command "+[a-z] ]] || fail "no '$group $command' in: $shown"
        expect 0 "$dsql" help "$group" "$command"
    done
    expect 0 "$dsql" help "$group"
    [ "$out" = "$shown" ] || fail "help $group is not $group --help: $out"
    [ "$group" = local ] || { # which runs by itself
        expect 2 "$dsql" "$group"
        [ "$err" = "$shown" ] || fail "$group alone: $err"
    }
    expect 2 "$dsql" "$group" "${command}x"
    wanted="dsql: 'dsql $group' does not expect '${command}x'; did you mean 'dsql $group $command'?"
    [ "$err" = "$wanted" ] || fail "$err"
    expect 2 "$dsql" help "$group" "${command}x"
    [ "$err" = "$wanted" ] || fail "$err"
    expect 2 "$dsql" "$group" --nonsense
    contains "$err" "'dsql $group' has no option --nonsense"
done
expect 2 "$dsql" help config foo --markdown
expect 2 "$dsql" help config foo bar
expect 2 "$dsql" help --man-pages="$scratch" config

# What the user typed is shown printable, on one line.
steering=$'a\nb\e[31m'
for words in "$steering" "config --$steering" "config -$steering" "version $steering" "help $steering" \
    "help config $steering" "completion $steering" "help --man-pages=$scratch/$steering"; do
    status=0
    IFS=' ' read -r -d '' -a typed <<<"$words" || true
    typed[-1]=${typed[-1]%$'\n'}
    "$dsql" "${typed[@]}" >/dev/null 2>"$scratch/err" || status=$?
    [ $status != 0 ] || fail "'$words' is taken"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "more than one line: $(cat -v "$scratch/err")"
    contains "$(cat "$scratch/err")" 'a?b?[31m'
done

# -- ends the options, --help included.
expect 2 "$dsql" completion -- --help
contains "$err" "no completion for '--help'"
expect 2 "$dsql" completion -- -h
expect 0 "$dsql" completion bash --help
contains "$out" 'Usage: dsql completion'

# A full disk must not look like success.
status=0
"$dsql" help >/dev/full 2>"$scratch/err" || status=$?
[ $status = 1 ] || fail "writing to a full disk ended with $status"
contains "$(cat "$scratch/err")" "can't write the output"
expect 1 "$dsql" help --man-pages="$scratch/nowhere"
contains "$err" "can't write $scratch/nowhere/dsql.1"
for page in dsql dsql-help; do
    mkdir "$scratch/$page"
    ln -s /dev/full "$scratch/$page/$page.1"
    expect 1 "$dsql" help --man-pages="$scratch/$page"
    [ "$err" = "dsql: can't write $scratch/$page/$page.1: No space left on device" ] || fail "$err"
done

# No line of help is wider than a terminal, but for one command to be copied whole.
expect 0 "$dsql" help
topics=$(sed -n 's/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p' "$scratch/out")
contains "$topics" metrics
while read -r topic; do
    # shellcheck disable=SC2086 # none, one or two words
    expect 0 "$dsql" help $topic
    wide=$(awk 'length > 80' "$scratch/out")
    [ -z "$wide" ] || fail "too wide in help $topic: $wide"
done <<<"
$topics"
