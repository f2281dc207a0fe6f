"""Whether argv[1] is a dashboard that Grafana can show and a person can read. argv[2] holds the names of
all metrics. Prints its queries as recording rules, for promtool to parse."""
import itertools
import json
import re
import sys

# Not shown: the same number as dsql_reservoir_size.
NOT_SHOWN = {"dsql_pool_idle"}


def plain(expr):
    """Without Grafana's variables, so that Prometheus takes it."""
    return expr.replace("$__rate_interval", "5m").replace("$service", ".*").replace("$instance", ".*").replace(
        "$operation", ".*")


with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    metrics = set(file.read().split())

panels = dashboard["panels"]
variables = {v["name"] for v in dashboard["templating"]["list"]}
assert variables == {"datasource", "service", "instance", "operation"}, variables
assert dashboard["uid"] and dashboard["title"] and dashboard["schemaVersion"] >= 36

ids = [p["id"] for p in panels]
assert len(ids) == len(set(ids)), "ids"
for a, b in itertools.combinations([p["gridPos"] for p in panels], 2):
    apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
    assert apart, f"panels overlap: {a} {b}"
assert all(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24 for p in panels), "wider than the page"
assert panels[0]["type"] == "row", "the first panel stands in no row"

graphs = [p for p in panels if p["type"] != "row"]
row, titles = None, set()
for p in panels:
    if p["type"] == "row":
        row = p["title"]
        continue
    assert (row, p["title"]) not in titles, f"twice in one row: {p['title']}"
    titles.add((row, p["title"]))
exprs = []
for p in graphs:
    where = p["title"]
    assert p["type"] in ("stat", "timeseries"), where
    assert p["description"].endswith("."), f"{where}: no description"
    assert p["fieldConfig"]["defaults"]["unit"] in ("short", "percentunit", "ops", "cps", "Bps", "s", "ms"), where
    assert p["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, where
    if p["type"] == "stat":
        steps = p["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert steps[0]["value"] is None and len(steps) > 1, where
    refs = [t["refId"] for t in p["targets"]]
    assert refs and len(refs) == len(set(refs)), where
    for t in p["targets"]:
        used = set(re.findall(r"\$(\w+)", t["expr"])) - {"__rate_interval"}
        assert used <= variables and {"service", "instance"} <= used, f"{where}: {used}"
        assert t["legendFormat"] and t["datasource"] == p["datasource"], where
        exprs.append(t["expr"])

shown = {re.sub(r"_(bucket|sum|count)$", "", name) for e in exprs for name in re.findall(r"\bdsql_\w+", e)}
assert shown <= metrics, f"no such metric: {shown - metrics}"
assert metrics - shown == NOT_SHOWN, f"shown nowhere: {metrics - shown - NOT_SHOWN}; shown after all: {NOT_SHOWN & shown}"

rules = [{"record": f"dashboard:query:{i}", "expr": plain(e)} for i, e in enumerate(exprs)]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
