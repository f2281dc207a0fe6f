#!/bin/bash
# What deploy/compose starts, without containers: its entry points, environments and health checks, in a network and
# a view of the files of their own, where the programs lie as in the image. Needs root.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
if [ -z "${COMPOSE_SCRATCH:-}" ]; then
    [ "$(id -u)" = 0 ] || { echo "compose: left out, for it needs root"; exit 0; }
    COMPOSE_SCRATCH=$(mktemp -d)
    export COMPOSE_SCRATCH
    trap 'rm -rf --one-file-system "$COMPOSE_SCRATCH"' EXIT
    unshare --mount --propagation private --net --pid --fork --kill-child "$0"
    exit
fi

ip link set lo up
mount -t tmpfs none "$COMPOSE_SCRATCH"
chmod 755 "$COMPOSE_SCRATCH"
for place in /etc /var/lib /usr/bin; do
    layer=$COMPOSE_SCRATCH$place
    mkdir -p "$layer"/{upper,work}
    mount -t overlay overlay -o "lowerdir=$place,upperdir=$layer/upper,workdir=$layer/work" $place
done
install "$root/build/dsql" "$root/build/temporal/temporal-dsql-server" /usr/bin/
install "$root/deploy/docker/entrypoint.sh" /usr/bin/temporal-entrypoint
install -D -m 644 "$root/deploy/temporal/temporal.yaml" /etc/temporal/temporal.yaml
for folder in dsql temporal; do
    rm -rf /var/lib/$folder
    install -d -o nobody -g nogroup /var/lib/$folder
done
install -m 644 "$root/deploy/compose/compose.yaml" "$root/integrations/temporal/test/compose.py" "$COMPOSE_SCRATCH/"
install "$root/build/temporal/temporal-check" "$COMPOSE_SCRATCH/"
cat >"$COMPOSE_SCRATCH/ask" <<'SH'
for _ in $(seq 600); do
    if "$COMPOSE_SCRATCH/temporal-check" --address 127.0.0.1:7233 --count 1 --kind activity; then
        curl -fsS http://127.0.0.1:9464/metrics | grep -q '^dsql_reservoir_size{service="temporal"' && exit 0
    fi
    sleep 1
done
exit 1
SH
cd /
setpriv --reuid nobody --regid nogroup --clear-groups env -i "COMPOSE_SCRATCH=$COMPOSE_SCRATCH" PATH=/usr/bin:/bin \
    HOME=/var/lib/temporal /usr/bin/python3 "$COMPOSE_SCRATCH/compose.py" "$COMPOSE_SCRATCH/compose.yaml" \
    sh "$COMPOSE_SCRATCH/ask" 2>"$COMPOSE_SCRATCH/log" || { cut -c 1-400 "$COMPOSE_SCRATCH/log" | tail -n 20 >&2; exit 1; }
echo "compose: a workflow has run on what the file starts"
