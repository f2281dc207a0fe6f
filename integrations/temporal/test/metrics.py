"""What metrics.sh asks of a scraped server and of the Prometheus that scrapes it.

    operations FILE FOLDER      /metrics in FILE: Temporal's operations, by the names that the adapter in FOLDER gives
    met FILE METRIC             how many of Temporal's operations have counted in METRIC
    scraped URL                 waits until the Prometheus at URL has the state of this moment
    record URL RULES CALM       prints a test for promtool, with the series that RULES ask for as they were recorded;
                                at CALM, seconds since 1970, the faults began
    dashboard URL FILE          each panel of the dashboard has data
    picture URL FILE SECONDS    prints a page with what the queries of the dashboard answered for so long
"""
import html
import json
import math
import pathlib
import re
import sys
import time
import urllib.parse
import urllib.request

DEADLINE_S = 900
STEP_S = 5  # between two samples of the promtool test
HELD_S = 600  # how long the server then goes on without an event
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url, path, **parameters):
    with opener.open(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=60) as reply:
        return json.load(reply)["data"]


def wait_for(what, condition):
    until = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        if time.monotonic() > until:
            sys.exit(f"nothing in {DEADLINE_S} s: {what}")
        time.sleep(0.3)
    return found


# -- What the server says of itself.

# What the server does beside the operations of stores: it asks for the lock and the schema that the cluster has.
OWN = {"ProbeShardLock", "ReadSchemaVersion", "settle"} | {
    name for source in (pathlib.Path(__file__).parents[3] / "src/visibility").glob("*.c")
    for name in re.findall(r'"([A-Z]\w+Visibility)"', source.read_text(encoding="utf-8"))}
assert len(OWN) > 6, OWN
# Each of these must have been met by more than one of Temporal's operations, or by one where that is all that can be.
MET = {
    "dsql_tx_conflicts_total": 3,
    "dsql_tx_retries_total": 3,
    "dsql_tx_backoff_seconds_count": 3,
    "dsql_tx_exhausted_total": 1,
    "dsql_condition_failed_total": 1,
    "dsql_operation_duration_seconds_count": 20,
    "dsql_retry_attempts_histogram_count": 20,
    "dsql_tx_round_trips_total": 20,
    "dsql_errors_total": 3,
}
# A workflow cannot do without these.
EVERYDAY = {
    "CreateWorkflowExecution", "UpdateWorkflowExecution", "GetWorkflowExecution", "GetCurrentExecution", "CreateTasks",
    "GetTasks", "UpdateTaskQueue", "UpdateShard", "GetOrCreateShard", "GetHistoryTasks",
    "ReadHistoryBranch", "GetNamespace", "ListNamespaces", "SaveClusterMetadata",
}


def values_of(file):
    by_metric = {}  # metric: {operation: sum of its values}
    for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines():
        if found := re.match(r'(dsql_\w+){.*operation="(\w+)".*} (\S+)$', line):
            metric, operation, value = found.groups()
            at = by_metric.setdefault(metric, {})
            at[operation] = at.get(operation, 0) + float(value)
    return by_metric


def met(file, metric):
    print(len([o for o, value in values_of(file).get(metric, {}).items() if value and o not in OWN]))


def operations(file, folder):
    names = set()
    for source in pathlib.Path(folder).glob("*.go"):
        names |= set(re.findall(r"^func \(s \*\w+\) ([A-Z]\w+)\(ctx ", source.read_text(encoding="utf-8"), re.M))
    by_metric = values_of(file)
    seen = {o for at in by_metric.values() for o, value in at.items() if value}
    assert seen - OWN <= names, f"no operation of Temporal's: {seen - OWN - names}"
    done = {o for o, count in by_metric["dsql_operation_duration_seconds_count"].items() if count}
    assert EVERYDAY <= done, f"never done: {EVERYDAY - done}"
    for metric, least in MET.items():
        by = {o: round(value) for o, value in by_metric.get(metric, {}).items() if value and o not in OWN}
        assert len(by) >= least, f"{metric}: only {by}"
        if "duration" not in metric and len(by) < 20:
            print(f"    {metric}: " + ", ".join(f"{o} {n}" for o, n in sorted(by.items(), key=lambda m: -m[1])))
    retries = by_metric["dsql_tx_retries_total"]
    for operation, conflicts in by_metric["dsql_tx_conflicts_total"].items():
        given_up = by_metric["dsql_tx_exhausted_total"].get(operation, 0)
        assert retries.get(operation, 0) + given_up <= conflicts or operation in OWN, f"{operation}: more tries than conflicts"
    tries = by_metric["dsql_retry_attempts_histogram_sum"]
    ended = by_metric["dsql_retry_attempts_histogram_count"]
    assert any(tries[o] > ended[o] for o in tries), "every operation needed one try only"
    assert by_metric["dsql_active_transactions"].keys() >= EVERYDAY, "active transactions"


# -- What Prometheus says.


def scraped(url):
    now = time.time()
    wait_for("a scrape", lambda: any(float(r["value"][1]) > now for r in ask(url, "query", query="timestamp(dsql_pool_open)")["result"]))


def samples(url, selector, start, end):
    """The series of a selector as they were recorded, a value for each step or None before the first."""
    steps = range(start, end + 1, STEP_S)
    found = []
    for r in ask(url, "query_range", query=selector, start=start, end=end, step=STEP_S)["result"]:
        values = {int(float(t)): v for t, v in r["values"]}
        labels = ",".join(f"{k}={json.dumps(v)}" for k, v in r["metric"].items() if k != "__name__")
        found.append((f"{r['metric']['__name__']}{{{labels}}}", [values.get(t) for t in steps]))
    return found


def held(values):
    """As promtool writes them; the last one stays."""
    last = next((v for v in reversed(values) if v is not None), None)
    if last is None:
        return None
    return " ".join("_" if v is None else v for v in values) + f" {last}x{HELD_S // STEP_S}"


def record(url, rules, calm):
    """Two servers: one on which nothing more happens after CALM, and the one that went on."""
    now, calm = int(time.time()), int(float(calm))
    start = calm - 60 // STEP_S * STEP_S
    text = pathlib.Path(rules).read_text(encoding="utf-8")
    series = []
    for name in sorted(set(re.findall(r"\b(?:dsql_\w+|up)\b", " ".join(re.findall(r"expr: >-\n\s*(.*)", text))))):
        series += samples(url, name, start, now)
    assert any(s.startswith("dsql_tx_conflicts_total{") for s, _ in series), "no conflicts were recorded"

    def test(count, firing):
        inputs = [{"series": s, "values": held(v[:count])} for s, v in series]
        firing = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing]
        expr = 'count by (alertname) (count by (alertname, service) (ALERTS{alertstate="firing"}))'
        at = f"{(count - 1) * STEP_S + 180}s"
        return {"interval": f"{STEP_S}s", "input_series": [i for i in inputs if i["values"]],
                "promql_expr_test": [{"expr": expr, "eval_time": at, "exp_samples": firing}]}

    print(json.dumps({"rule_files": [rules], "evaluation_interval": f"{STEP_S}s", "tests": [
        test((calm - start) // STEP_S + 1, []),
        test((now - start) // STEP_S + 1, ["DSQLConflictsHigh", "DSQLTransactionsGivenUp"]),
    ]}))


# Not about a server with a budget of its own that sends only what the service knows.
NOT_HERE = {"Fleet's connections used", "Statements the service does not know"}


def numbers(url, query):
    return [r for r in ask(url, "query", query=query)["result"] if math.isfinite(float(r["value"][1]))]


def panels_of(file):
    return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["panels"]


def query_of(target, interval):
    return re.sub(r"\$(service|instance|operation)", ".*", target["expr"].replace("$__rate_interval", interval))


def dashboard(url, file):
    panels = panels_of(file)
    titles = {p["title"] for p in panels}
    assert NOT_HERE <= titles, NOT_HERE - titles
    count = 0
    for panel in panels:
        for target in panel.get("targets", []):
            query = query_of(target, "5m")
            if panel["title"] in NOT_HERE:
                continue
            wait_for(f"{panel['title']}: {query}", lambda q=query: numbers(url, q))
            count += 1
    print(f"    {count} queries of the dashboard have data")


# -- A picture.

COLOURS = ["#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#1f9e9e", "#b8860b", "#5f6b7a", "#d4489a", "#7a9a01"]
WIDTH, HEIGHT = 400, 96


def lines_of(url, panel, start, end):
    lines = []
    for target in panel["targets"]:
        for r in ask(url, "query_range", query=query_of(target, "15s"), start=start, end=end, step=1)["result"]:
            points = [(float(t) - start, float(v)) for t, v in r["values"] if math.isfinite(float(v))]
            name = re.sub(r"{{(\w+)}}", lambda m, r=r: r["metric"].get(m.group(1), ""), target["legendFormat"])
            if points:
                lines.append((name, points))
    return lines


def chart(panel, lines, seconds):
    top = max((v for _, points in lines for _, v in points), default=0) or 1
    drawn, names = [], []
    for (name, points), colour in zip(lines, COLOURS * 9):
        path = " ".join(f"{t / seconds * WIDTH:.1f},{HEIGHT - max(v, 0) / top * (HEIGHT - 6):.1f}" for t, v in points)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        names.append(f'<span style="color:{colour}">{html.escape(name)} <b>{points[-1][1]:.3g}</b></span>')
    unit = panel["fieldConfig"]["defaults"]["unit"]
    return (f'<div class="panel"><h3>{html.escape(panel["title"])} <small>up to {top:.3g} {unit}</small></h3>'
            f'<svg width="{WIDTH}" height="{HEIGHT}">{"".join(drawn)}</svg><p>{" ".join(names[:10])}</p></div>')


def picture(url, file, seconds):
    end, seconds = time.time(), float(seconds)
    print('<!doctype html><meta charset="utf-8"><style>body{font:11px sans-serif;width:1290px;margin:8px}'
          "h2{margin:10px 0 2px;clear:both;font-size:14px}h3{margin:0;font-size:12px}small{color:#888;font-weight:normal}"
          ".panel{float:left;width:404px;height:166px;margin:4px;padding:6px;border:1px solid #ddd;overflow:hidden}"
          "svg{background:#f7f7f7}p{margin:2px 0}</style>")
    for panel in panels_of(file):
        if panel["type"] == "row":
            print(f"<h2>{html.escape(panel['title'])}</h2>")
        elif panel["title"] not in NOT_HERE:
            print(chart(panel, lines_of(url, panel, end - seconds, end), seconds))


{"picture": picture, "operations": operations, "met": met, "scraped": scraped, "record": record, "dashboard": dashboard}[sys.argv[1]](*sys.argv[2:])
