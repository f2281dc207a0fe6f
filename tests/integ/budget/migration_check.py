"""docs/migration.md against the program: migration_check.py SOURCE_DIR DSQL

Everything that the Go plugin's documentation names (tests/vectors/plugin/names.txt) has a row in the table of its kind,
and what the row names on our side is there: a setting, a metric, an event, an alert, a file, a test.
"""
import json
import os
import re
import subprocess
import sys

source, dsql = sys.argv[1:]
problems = []


def read(*path):
    with open(os.path.join(source, *path), encoding="utf-8") as file:
        return file.read()


def check(ok, what):
    if not ok:
        problems.append(what)


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def named(page):
    """The first column of every table of a printed page."""
    return set(re.findall(r"^\| `([^`]+)` ", read("docs", page), re.M))


page = read("docs/migration.md")
rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in page.splitlines() if line.startswith("|")]
rows = {quoted(row[0])[0]: row for row in rows if quoted(row[0]) == [row[0].strip("`")] and len(row) == 3}
settings, metrics, events = named("configuration.md"), named("metrics.md"), named("events.md")
alerts = set(re.findall(r"- alert: (\w+)", read("deploy/prometheus/dsql-alerts.yml")))
ours = {"variable": settings, "setting": settings, "metric": metrics, "alert": alerts, "message": events | metrics}
names = [line.split(" ", 1) for line in read("tests/vectors/plugin/names.txt").splitlines() if not line.startswith("#")]
values = {}
for kind, rest in names:
    name, value = rest.split(" ", 1) if kind == "variable" else (rest, None)
    if kind == "variable":
        values[name] = value
    row = rows.get(name)
    check(row, f"no row for the plugin's {kind} {name}")
    if not row:
        continue
    here = [name] if row[1] == "the same" else quoted(row[1])
    check(here or row[1] == "none", f"{name}: the row says neither what it is here nor that there is nothing")
    for one in here:
        check(one in ours[kind], f"{name}: {one} is not there")
check({kind for kind, _ in names} == set(ours), "a kind of names is missing")

# All at once, as the plugin's environment has them: each is taken as it stands, and nothing is said.
environment = {"PATH": os.environ["PATH"], **values}
shown = subprocess.run([dsql, "config", "--json"], env=environment, capture_output=True, text=True, check=False)
check(shown.returncode == 0 and not shown.stderr, f"dsql config: {shown.stdout} {shown.stderr}")
effect = {one["name"]: one for one in json.loads(shown.stdout)["settings"]}
for name, value in values.items():
    here = name if name in effect else quoted(rows[name][1])[0]
    taken = effect[here]["value"]
    check((taken if isinstance(taken, str) else json.dumps(taken)) == value and
          effect[here]["origin"] == "environment", f"{name}={value} becomes {effect[here]}")
# One that nobody knows is said.
unknown = subprocess.run([dsql, "config"], env={**environment, "DSQL_RESERVOIR_TARGT": "5"}, capture_output=True,
                         text=True, check=False)
check("DSQL_RESERVOIR_TARGT" in unknown.stdout + unknown.stderr, "a variable that is no setting goes unnoticed")

# Whatever else the page names.
for name in set(re.findall(r"\bDSQL_[A-Z_]+\b", page)):
    check(name in settings or f"({name[5:]}," in read("include/dsql/err.h"), f"{name} is no setting")
for name in set(re.findall(r"\bdsql_[a-z]+_[a-z_]+\b", page)):
    check(name in metrics, f"{name} is no metric")
for name in set(re.findall(r"`((?:config|pool|budget|credentials)\.[a-z_]+)`", page)):
    check(name in events, f"{name} is no event")
for name in set(re.findall(r"\b(?:deploy|tests)/[\w./-]+\w", page)):
    check(os.path.exists(os.path.join(source, name)), f"{name} is not there")
for command in {text for text in quoted(page) if text.startswith("dsql ")}:
    words = re.match(r"dsql((?: [a-z]+)+)", command)[1].split()
    helped = subprocess.run([dsql, "help", *words], capture_output=True, text=True, check=False)
    check(helped.returncode == 0, f"there is no {command}")
    for option in re.findall(r"--[a-z-]+", command):
        check(option in helped.stdout, f"{command}: no option {option}")
prefixes = dict(re.findall(r'#define (DSQL_\w+_PREFIX)\s+"([^"]+)"', read("src/budget/lease_items.h")))
for prefix in prefixes.values():
    check(f"`{prefix}<endpoint>" in page, f"the items {prefix} are not listed")

for problem in problems:
    print(problem)
sys.exit(bool(problems))
