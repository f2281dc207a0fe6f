#!/bin/bash
# Symptoms of docs/operations.md: connects that are refused.
# shellcheck source=tests/integ/symptoms.bash
. "$SOURCE_DIR/tests/integ/symptoms.bash"
see 'Connects throttled' 'Access denied' 'Cluster unreachable'
