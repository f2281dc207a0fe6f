#!/bin/bash
# Many connections: the bucket lets in what it holds and no more, and ten thousand idle ones cost the
# front less than a gigabyte.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
crowd=$BUILD_DIR/tests/crowd

# 2,000 against 100 a second and a burst of 1,000.
expect 0 "$dsql" local exec -- "$crowd" 2000 </dev/null
eval "$out" # in=, refused=, broken=, ms=
# shellcheck disable=SC2154 # eval set them
if [ "$broken" != 0 ] || [ $((in + refused)) != 2000 ] || [ "$in" -lt 1000 ] ||
    [ "$in" -gt $((1000 + ms / 10 + 1)) ]; then
    fail "the bucket holds 1000 + $ms/10: $out"
fi

# 10,000 held, by a front that may.
"$dsql" local exec --rate 100000 --burst 100000 -- bash -c '
    exec 3> >("$1" 10000 >"$2"); for _ in $(seq 1200); do [ -s "$2" ] && break; sleep 0.1; done
    awk "/VmHWM/ {print \$2}" /proc/$PPID/status; exec 3>&-; wait' _ "$crowd" "$scratch/crowd" >"$scratch/kib"
contains "$(cat "$scratch/crowd")" 'in=10000 refused=0 broken=0'
[ "$(cat "$scratch/kib")" -lt $((1024 * 1024)) ] || fail "the front took $(cat "$scratch/kib") KiB"
echo "10,000 idle connections: $(($(cat "$scratch/kib") / 1024)) MiB in the front"
