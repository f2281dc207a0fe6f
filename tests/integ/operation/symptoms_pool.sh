#!/bin/bash
# Symptoms of docs/operations.md: a pool that is too small, and connections that end too soon.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"
healthy 'Reservoir draining' 'Reservoir empty' 'Slow checkouts' 'Connections lost' 'High discard rate'
see 'Reservoir draining' 'Reservoir empty' 'Slow checkouts' 'Connections lost'
begin 'High discard rate' # by its settings alone
check
