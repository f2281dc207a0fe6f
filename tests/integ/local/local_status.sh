#!/bin/bash
# `dsql local status`: the lines for people and the JSON for machines say the same, numbers as numbers.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 "$dsql" local exec -- bash -c '
    "$dsql" local status --admissions --json >"$0/none.json"
    psql -Atqc "select 1" >/dev/null && psql -Atqc "select 1" >/dev/null
    until [ "$("$dsql" local status | sed -n "s/^open=//p")" = 0 ]; do sleep 0.05; done
    "$dsql" local status >"$0/lines" && "$dsql" local status --json >"$0/json"
    "$dsql" local status --admissions >"$0/stamps" && "$dsql" local status --admissions --json >"$0/stamps.json"' "$scratch"
python3 - "$scratch" <<'PY'
import json, sys
folder = sys.argv[1]
lines = dict(line.rstrip("\n").split("=", 1) for line in open(f"{folder}/lines"))
told = json.load(open(f"{folder}/json"))
assert {name: str(value) for name, value in told.items()} == lines, (told, lines)
assert told["admitted"] == 2 and isinstance(told["wall"], str), told
assert json.load(open(f"{folder}/stamps.json")) == [int(line) for line in open(f"{folder}/stamps")]
assert len(json.load(open(f"{folder}/stamps.json"))) == 2 and json.load(open(f"{folder}/none.json")) == []
PY
