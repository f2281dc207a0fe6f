"""Asks a running Prometheus (argv[1]) every query of the dashboard (argv[2]) and of the alerts it has
loaded, until each has answered with numbers. argv[3]: seconds after which that is a failure."""
import json
import math
import re
import sys
import time
import urllib.parse
import urllib.request

url, dashboard, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
until = time.monotonic() + seconds


def ask(path, **parameters):
    with opener.open(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=60) as reply:
        return json.load(reply)["data"]


def wait_for(what, condition):
    while not (found := condition()):
        if time.monotonic() > until:
            sys.exit(f"nothing in {seconds:.0f} s: {what}")
        time.sleep(0.3)
    return found


def numbers(query):
    """The series that answer it with a number."""
    return [r["metric"] for r in ask("query", query=query)["result"] if math.isfinite(float(r["value"][1]))]


def check_dashboard():
    with open(dashboard, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    count = 0
    for panel in panels:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "1m")
            query = re.sub(r"\$(service|instance|operation)", ".*", query)
            found = wait_for(f"{panel['title']}: {query}", lambda q=query: numbers(q))
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                assert all(label in series for series in found), f"{panel['title']}: no label {label}"
            count += 1
    return count


def rules():
    return [rule for group in ask("rules")["groups"] for rule in group["rules"]]


def check_alerts():
    wait_for("rules that have been evaluated", lambda: all(r["health"] != "unknown" for r in rules()))
    for rule in rules():
        assert rule["health"] == "ok", f"{rule['name']}: {rule.get('lastError')}"
        # With `bool` a comparison answers 0 or 1 instead of nothing, whether it fires or not.
        query = re.sub(r" (==|<|>) ", r" \1 bool ", rule["query"])
        wait_for(f"{rule['name']}: {query}", lambda q=query: numbers(q))
        for selector in re.findall(r"(?:dsql_\w+|up)(?:{[^}]*})?", rule["query"]):
            wait_for(f"{rule['name']}: {selector}", lambda s=selector: numbers(s))
    # These fire at once, by what the endpoint is told to do.
    for name in ("DSQLUnknownCommits", "DSQLUnsupportedStatement"):
        wait_for(name, lambda n=name: any(r["name"] == n and r["state"] == "firing" for r in rules()))
    return len(rules())


wait_for("both processes", lambda: len([t for t in ask("targets")["activeTargets"] if t["health"] == "up"]) == 2)
print(f"{check_dashboard()} queries of the dashboard and {check_alerts()} alerts answer with numbers")
