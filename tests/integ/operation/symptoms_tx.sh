#!/bin/bash
# Symptoms of docs/operations.md: transactions.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"
healthy 'Conflicts' 'Transactions given up' 'Unknown commits' 'Condition failures' 'Unsupported statements' 'Shards acquired over and over' 'Lists read much'
see 'Conflicts' 'Transactions given up' 'Unknown commits'

# Those that a program causes by itself.
export DSQL_POOL_MAX_OPEN=2 DSQL_STAGGERED_STARTUP=false
dsql schema apply >"$scratch/schema"
for name in 'Condition failures' 'Unsupported statements' 'Shards acquired over and over' 'Lists read much'; do
    read_page "$name"
    before=0
    case $name in
        Condition*) start_driver fence ;;
        Shards*) start_driver acquire ;;
        Lists*) start_driver lists ;;
        *) start_driver unsupported ;;
    esac
    check
done
