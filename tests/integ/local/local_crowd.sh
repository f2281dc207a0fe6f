#!/bin/bash
# Many connections: the bucket lets in what it holds and no more, by the front's own stamps, and ten
# thousand idle ones cost the front less than a gigabyte.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export dsql crowd=$BUILD_DIR/tests/crowd

# 2,000 against 100 a second and a burst of 1,000. In any stretch of t seconds at most 1000 + 100 t are let
# in: with stamps a(0), a(1), ... that is, for all i < j, j - i + 1 <= 1000 + 100 (a(j) - a(i)).
expect 0 "$dsql" local exec -- bash -c '"$crowd" 2000 </dev/null && "$dsql" local status --admissions >"$0"' "$scratch/stamps"
eval "$out" # in=, refused=, broken=, ms=
# shellcheck disable=SC2154 # eval set them
if [ "$broken" != 0 ] || [ $((in + refused)) != 2000 ] || [ "$in" -lt 1000 ]; then
    fail "somebody got no answer, or less than the burst was let in: $out"
fi
[ "$(wc -l <"$scratch/stamps")" = "$in" ] || fail "$in were let in, and there are $(wc -l <"$scratch/stamps") stamps"
# (j - 100 a(j)) - (i - 100 a(i)) + 1 <= 1000: the least on the way is enough to compare with.
awk '{ v = NR - 100 * $1 / 1e9; if (NR == 1 || v < least) least = v
       if (v - least + 1 > 1000.001) { print "stamp " NR " is " v - least + 1 " of 1000"; bad = 1; exit }
       if (NR > 1 && $1 < last) { print "stamps go back"; bad = 1; exit } last = $1 }
     END { exit bad }' "$scratch/stamps" || fail "more than the bucket holds"

# 10,000 held, by a front that may.
"$dsql" local exec --rate 100000 --burst 100000 -- bash -c '
    exec 3> >("$crowd" 10000 >"$0"); eventually test -s "$0" || eventually test -s "$0"
    awk "/VmHWM/ {print \$2}" /proc/$PPID/status; "$dsql" local status | sed -n "s/^backends=//p"
    exec 3>&-; wait' "$scratch/crowd" >"$scratch/kib"
contains "$(cat "$scratch/crowd")" 'in=10000 refused=0 broken=0'
{ read -r kib && read -r backends; } <"$scratch/kib"
[ "$kib" -lt $((1024 * 1024)) ] || fail "the front took $kib KiB"
[ "$backends" = 0 ] || fail "idle connections took $backends sessions at PostgreSQL"
echo "10,000 idle connections: $((kib / 1024)) MiB in the front"
