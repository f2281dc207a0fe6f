#!/bin/bash
# Symptoms of docs/operations.md: a full cluster, a wrong clock, a pool that does not fill.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"
healthy 'Cluster full' 'Clock skew' 'Reservoir not filling'
see 'Cluster full' 'Clock skew'

# Refused from the start.
name='Reservoir not filling'
read_page "$name"
before=0
strike
export DSQL_RESERVOIR_ENABLED=true DSQL_POOL_MAX_OPEN=5 DSQL_STAGGERED_STARTUP=false
export DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=2s
start_driver fill
check
