#!/bin/sh
# Runs Temporal's services in this container.   entrypoint.sh SERVICE[,SERVICE...]
# Anything else is a command, such as `dsql schema apply`.
set -eu
case ${1:-} in
    frontend* | history* | matching* | worker*) ;;
    *) exec "$@" ;;
esac
# The others reach this container at its own address: on Fargate that of the task's interface.
: "${TEMPORAL_BROADCAST_ADDRESS:=$(hostname -i | cut -d' ' -f1)}"
export TEMPORAL_BROADCAST_ADDRESS
exec temporal-dsql-server --config /etc/temporal/temporal.yaml --services "$1" --metrics 0.0.0.0:9464
