#!/bin/bash
# Symptoms of docs/operations.md: connects that are refused.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"
healthy 'Connects throttled' 'Access denied' 'Cluster unreachable'
see 'Connects throttled' 'Access denied' 'Cluster unreachable'
