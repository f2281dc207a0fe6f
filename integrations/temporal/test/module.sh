#!/bin/bash
# module.sh VERSION FOLDER [MODULE=VERSION...]: a go.mod in FOLDER with that version of the Temporal server and what it
# requires, for go's -modfile. One that is there stays. A MODULE=VERSION takes the place of the one that the server
# requires, for a proxy that does not have it. GO is the go to use.
set -euo pipefail
version=$1 folder=$2
shift 2
server=go.temporal.io/server
[ ! -e "$folder/go.sum" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/.."
new=$folder/new.mod
requires=$("$GO" list -m -f '{{.GoMod}}' "$server@$version")
{
    grep -E '^module ' go.mod
    grep -E '^go ' "$requires"
    echo "require $server $version"
    for other; do echo "replace ${other%%=*} => ${other/=/ }"; done
} >"$new"
"$GO" mod tidy -modfile="$new"
mv "$new" "$folder/go.mod"
mv "$folder/new.sum" "$folder/go.sum" # last: it says that all is there
