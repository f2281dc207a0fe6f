"""Cases for `promtool test rules`: for each alert a world in which it fires, and one near by in which it
does not. Prints the test file for the rules in argv[1]; argv[2] holds the names of all metrics.

A world is the healthy one with some series changed. In each, exactly the named alerts fire: the others
have to stay quiet. All of them are one test, each world a service of its own: sixty tests take a minute.
"""
import json
import re
import sys

LAST = 36  # minutes; a sample each
AT = "35m"


def flat(value):
    return f"{value}x{LAST}"


def rising(step):
    """A counter that rises by `step` a minute."""
    return f"0+{step}x{LAST}"


def change(before, minute, after):
    """A gauge, or a counter of rare events, that changes then."""
    return f"{before}x{minute - 1} {after}x{LAST - minute}"


def once(minute):
    """A series that begins with its first event."""
    return f"_x{minute} 1x{LAST - minute}"


HEALTHY = {
    "up": flat(1),
    "dsql_reservoir_size": flat(40),
    "dsql_reservoir_target": flat(50),
    "dsql_pool_open": flat(50),
    "dsql_pool_in_use": flat(10),
    "dsql_pool_max_open": flat(50),
    "dsql_reservoir_empty_total": flat(0),
    "dsql_reservoir_refill_failures_total|reason=connect": flat(0),
    "dsql_reservoir_refill_failures_total|reason=lease_acquire": flat(0),
    "dsql_reservoir_refill_failures_total|reason=token_provider": flat(0),
    "dsql_reservoir_refill_failures_total|reason=rate_limit": rising(2),  # it waits for permits while full
    "dsql_reservoir_discards_total|reason=expiring_soon_on_scan": rising(4),
    "dsql_reservoir_discards_total|reason=server_closed": flat(0),
    "dsql_reservoir_discards_total|reason=broken": flat(0),
    "dsql_reservoir_discards_total|reason=dirty_return": flat(0),
    "dsql_reservoir_checkout_latency_milliseconds_bucket|le=0.001": rising(2000),
    "dsql_reservoir_checkout_latency_milliseconds_bucket|le=10": rising(2000),
    "dsql_reservoir_checkout_latency_milliseconds_bucket|le=100": rising(2000),
    "dsql_reservoir_checkout_latency_milliseconds_bucket|le=+Inf": rising(2000),
    "dsql_distributed_conn_lease_active": flat(500),
    "dsql_distributed_conn_lease_limit": flat(10000),
    "dsql_budget_slots": flat(50),
    "dsql_budget_problem": flat(0),
    "dsql_clock_ahead_seconds": flat(1),
    "dsql_visibility_runs_read_total": rising(2000),
    "dsql_visibility_runs_answered_total": rising(1000),
    "dsql_tx_conflicts_total|operation=buy": rising(20),
    "dsql_tx_conflicts_alert_per_minute": flat(100),
    "dsql_tx_exhausted_total|operation=buy": flat(0),
    "dsql_condition_failed_total|operation=buy": rising(20),
    "dsql_operation_duration_seconds_count|operation=buy": rising(2000),
    "dsql_commit_unknown_total|operation=buy,outcome=applied": rising(2),
    "dsql_proxy_clients_waiting": flat(2),
    "dsql_proxy_connections_lent": flat(10),
    "dsql_proxy_waits_total": rising(20),
    "dsql_proxy_timeouts_total": flat(0),
    "dsql_proxy_refused_total": rising(1),  # somebody mistypes a password now and then
    "dsql_proxy_unknown_total": flat(0),
} | {
    f"dsql_connect_failures_total|class={c}": flat(0)
    for c in ("throttled", "full", "token_expired", "denied", "tls", "resources", "network")
}

REFILL = "dsql_reservoir_refill_failures_total|reason="
CONNECT = "dsql_connect_failures_total|class="
DISCARD = "dsql_reservoir_discards_total|reason="
LATENCY = "dsql_reservoir_checkout_latency_milliseconds_bucket|le="
BURST = change(0, 27, 4)  # some failures, eight minutes ago: over

# alert, what changes, which alerts fire at AT
CASES = [
    ("all is well", {}, []),
    ("no budget is shared", {"dsql_distributed_conn_lease_active": flat(0), "dsql_distributed_conn_lease_limit": flat(0)}, []),
    ("DSQLProcessDown", {"up": change(1, 31, 0)}, ["DSQLProcessDown"]),
    ("DSQLProcessDown", {"up": change(1, 34, 0)}, []),  # a minute ago: a restart
    ("DSQLNoConnections", {"dsql_pool_open": flat(0), "dsql_reservoir_size": flat(0)}, ["DSQLNoConnections", "DSQLReservoirLow", "DSQLBudgetUsedUp"]),
    ("DSQLNoConnections", {"dsql_pool_open": flat(0), "dsql_reservoir_target": flat(0)}, []),  # it wants none
    ("DSQLReservoirLow", {"dsql_pool_open": flat(24), REFILL + "rate_limit": flat(0)}, ["DSQLReservoirLow"]),
    ("DSQLReservoirLow", {"dsql_pool_open": flat(26), REFILL + "rate_limit": flat(0)}, []),
    ("DSQLReservoirLow", {"dsql_pool_open": change(50, 31, 10)}, []),  # for 4 minutes: it refills
    ("DSQLReservoirLow", {"dsql_reservoir_size": flat(5), "dsql_pool_in_use": flat(44)}, []),  # busy is not low
    ("DSQLReservoirEmpty", {"dsql_reservoir_empty_total": rising(2)}, ["DSQLReservoirEmpty"]),
    ("DSQLReservoirEmpty", {"dsql_reservoir_empty_total": BURST}, []),
    ("DSQLPoolBusy", {"dsql_pool_in_use": flat(46)}, ["DSQLPoolBusy"]),
    ("DSQLPoolBusy", {"dsql_pool_in_use": flat(45)}, []),
    ("DSQLCheckoutSlow", {LATENCY + "0.001": rising(1800), LATENCY + "10": rising(1900)}, ["DSQLCheckoutSlow"]),
    ("DSQLCheckoutSlow", {LATENCY + "0.001": rising(1900), LATENCY + "10": rising(1990)}, []),
    ("DSQLReservoirRefillFailures", {REFILL + "connect": rising(2)}, ["DSQLReservoirRefillFailures"]),
    ("DSQLReservoirRefillFailures", {REFILL + "lease_acquire": rising(2)}, ["DSQLReservoirRefillFailures"]),
    ("DSQLReservoirRefillFailures", {REFILL + "connect": BURST}, []),
    ("DSQLBudgetUsedUp", {"dsql_pool_open": flat(44)}, ["DSQLBudgetUsedUp"]),
    ("DSQLBudgetUsedUp", {"dsql_pool_open": flat(46)}, []),
    ("DSQLConnectsThrottled", {CONNECT + "throttled": rising(2)}, ["DSQLConnectsThrottled"]),
    ("DSQLConnectsThrottled", {CONNECT + "throttled": BURST}, []),
    ("DSQLClusterFull", {CONNECT + "full": rising(2)}, ["DSQLClusterFull"]),
    ("DSQLClusterFull", {CONNECT + "full": BURST}, []),
    ("DSQLGlobalLimitNearCapacity", {"dsql_distributed_conn_lease_active": flat(9100)}, ["DSQLGlobalLimitNearCapacity"]),
    ("DSQLGlobalLimitNearCapacity", {"dsql_distributed_conn_lease_active": flat(9000)}, []),
    ("DSQLBudgetShort", {"dsql_budget_slots": flat(49)}, ["DSQLBudgetShort"]),
    ("DSQLBudgetShort", {"dsql_budget_slots": change(50, 27, 20)}, []),  # for 8 minutes: a newcomer's
    ("DSQLBudgetTableUnusable", {"dsql_budget_problem": flat(1)}, ["DSQLBudgetTableUnusable"]),
    ("DSQLBudgetTableUnusable", {"dsql_budget_problem": change(0, 34, 1)}, []),
    ("DSQLCredentialsFail", {REFILL + "token_provider": rising(2)}, ["DSQLCredentialsFail", "DSQLReservoirRefillFailures"]),
    ("DSQLCredentialsFail", {REFILL + "token_provider": BURST}, []),
    ("DSQLAccessDenied", {CONNECT + "denied": rising(2)}, ["DSQLAccessDenied"]),
    ("DSQLAccessDenied", {CONNECT + "denied": BURST}, []),
    ("DSQLServerNotTrusted", {CONNECT + "tls": rising(2)}, ["DSQLServerNotTrusted"]),
    ("DSQLServerNotTrusted", {CONNECT + "tls": BURST}, []),
    ("DSQLClockSkew", {CONNECT + "token_expired": rising(2)}, ["DSQLClockSkew"]),
    ("DSQLClockSkew", {CONNECT + "token_expired": BURST}, []),
    ("DSQLClockDrift", {"dsql_clock_ahead_seconds": flat(61)}, ["DSQLClockDrift"]),
    ("DSQLClockDrift", {"dsql_clock_ahead_seconds": flat(-61)}, ["DSQLClockDrift"]),
    ("DSQLClockDrift", {"dsql_clock_ahead_seconds": flat(-59)}, []),
    ("DSQLClusterUnreachable", {CONNECT + "network": rising(2)}, ["DSQLClusterUnreachable"]),
    ("DSQLClusterUnreachable", {CONNECT + "network": BURST}, []),
    ("DSQLOutOfResources", {CONNECT + "resources": rising(2)}, ["DSQLOutOfResources"]),
    ("DSQLOutOfResources", {CONNECT + "resources": BURST}, []),
    ("DSQLConnectionsLost", {DISCARD + "server_closed": rising(0.8), DISCARD + "broken": rising(0.8)}, ["DSQLConnectionsLost"]),
    ("DSQLConnectionsLost", {DISCARD + "server_closed": rising(0.8)}, []),  # 4 of 50 in five minutes
    ("DSQLDiscardRateHigh", {DISCARD + "expiring_soon_on_scan": rising(320)}, ["DSQLDiscardRateHigh"]),
    ("DSQLDiscardRateHigh", {DISCARD + "expiring_soon_on_scan": rising(280)}, []),
    ("DSQLDirtyReturns", {DISCARD + "dirty_return": rising(2)}, ["DSQLDirtyReturns"]),
    ("DSQLDirtyReturns", {DISCARD + "dirty_return": BURST}, []),
    ("DSQLConflictsHigh", {"dsql_tx_conflicts_total|operation=buy": rising(102)}, ["DSQLConflictsHigh"]),
    ("DSQLConflictsHigh", {"dsql_tx_conflicts_total|operation=buy": rising(52), "dsql_tx_conflicts_total|operation=sell": rising(52)}, ["DSQLConflictsHigh"]),
    ("DSQLConflictsHigh", {"dsql_tx_conflicts_total|operation=buy": rising(98)}, []),
    ("DSQLConflictsHigh", {"dsql_tx_conflicts_total|operation=buy": rising(1000), "dsql_tx_conflicts_alert_per_minute": flat(0)}, []),
    ("DSQLTransactionsGivenUp", {"dsql_tx_exhausted_total|operation=buy": change(0, 34, 1)}, ["DSQLTransactionsGivenUp"]),
    ("DSQLTransactionsGivenUp", {"dsql_tx_exhausted_total|operation=buy": BURST}, []),
    ("DSQLConditionFailures", {"dsql_condition_failed_total|operation=buy": rising(220)}, ["DSQLConditionFailures"]),
    ("DSQLConditionFailures", {"dsql_condition_failed_total|operation=buy": rising(180)}, []),
    ("DSQLUnknownCommits", {"dsql_commit_unknown_total|operation=buy,outcome=unsettled": once(30)}, ["DSQLUnknownCommits"]),
    ("DSQLUnknownCommits", {"dsql_commit_unknown_total|operation=buy,outcome=unsettled": change(1, 30, 2)}, ["DSQLUnknownCommits"]),
    ("DSQLUnknownCommits", {"dsql_commit_unknown_total|operation=buy,outcome=unsettled": once(15)}, []),
    ("DSQLShardThrashed", {"dsql_temporal_shard_acquired_total|times=often": once(30)}, ["DSQLShardThrashed"]),
    ("DSQLShardThrashed", {"dsql_temporal_shard_acquired_total|times=few": once(30)}, []),
    ("DSQLShardThrashed", {"dsql_temporal_shard_acquired_total|times=often": once(15)}, []),
    ("DSQLVisibilityReadsMuch", {"dsql_visibility_runs_read_total": rising(130000)}, ["DSQLVisibilityReadsMuch"]),
    ("DSQLVisibilityReadsMuch", {"dsql_visibility_runs_read_total": rising(100000)}, []),
    ("DSQLVisibilityReadsMuch", {"dsql_visibility_runs_read_total": rising(5000), "dsql_visibility_runs_answered_total": flat(0)}, []),  # a few
    ("DSQLVisibilityReadsMuch", {"dsql_visibility_runs_read_total": rising(7000), "dsql_visibility_runs_answered_total": flat(0)}, ["DSQLVisibilityReadsMuch"]),
    ("DSQLProxyClientsWait", {"dsql_proxy_clients_waiting": flat(11)}, ["DSQLProxyClientsWait"]),
    ("DSQLProxyClientsWait", {"dsql_proxy_clients_waiting": flat(10)}, []),
    ("DSQLProxyClientsWait", {"dsql_proxy_clients_waiting": flat(11), "dsql_proxy_waits_total": flat(7)}, []),  # PAUSE
    ("DSQLProxyNoConnection", {"dsql_proxy_timeouts_total": rising(2)}, ["DSQLProxyNoConnection"]),
    ("DSQLProxyNoConnection", {"dsql_proxy_timeouts_total": BURST}, []),
    ("DSQLProxyRefused", {"dsql_proxy_refused_total": rising(8)}, ["DSQLProxyRefused"]),
    ("DSQLProxyRefused", {"dsql_proxy_refused_total": rising(4)}, []),
    ("DSQLProxyUnknownOutcome", {"dsql_proxy_unknown_total": change(0, 30, 1)}, ["DSQLProxyUnknownOutcome"]),
    ("DSQLProxyUnknownOutcome", {"dsql_proxy_unknown_total": change(0, 15, 1)}, []),
    ("DSQLUnsupportedStatement", {"dsql_unsupported_feature_total|operation=buy,feature=savepoint": once(30)}, ["DSQLUnsupportedStatement"]),
    ("DSQLUnsupportedStatement", {"dsql_unsupported_feature_total|operation=buy,feature=savepoint": once(15)}, []),
]


def series(key, service):
    name, _, labels = key.partition("|")
    own = "".join(",{}=\"{}\"".format(*pair.split("=")) for pair in labels.split(",") if pair)
    return f'{name}{{service="{service}",instance="{service}:9464",job="dsql"{own}}}'


def worlds():
    inputs, firing = [], []
    for number, (name, changes, fires) in enumerate(CASES):
        service = f"{number}-{name.replace(' ', '-')}"
        inputs += [{"series": series(k, service), "values": v} for k, v in (HEALTHY | changes).items()]
        firing += [{"labels": f'{{alertname="{f}",service="{service}"}}', "value": 1} for f in fires]
    expr = 'count by (alertname, service) (ALERTS{alertstate="firing"})'
    return {
        "interval": "1m",
        "input_series": inputs,
        "promql_expr_test": [{"expr": expr, "eval_time": AT, "exp_samples": firing}],
    }


rules, names = sys.argv[1:]
with open(rules, encoding="utf-8") as file:
    alerts = set(re.findall(r"- alert: (\w+)", file.read()))
with open(names, encoding="utf-8") as file:
    metrics = set(file.read().split()) | {"up"}
for alert in alerts:
    assert any(name == alert and alert in fires for name, _, fires in CASES), f"{alert} never fires"
    assert any(name == alert and alert not in fires for name, _, fires in CASES), f"{alert} is never quiet"
for _, changes, fires in CASES:
    assert alerts.issuperset(fires), fires
    for key in HEALTHY | changes:
        name = re.sub(r"_(bucket|sum|count)$", "", key.partition("|")[0])
        assert name in metrics, f"{name} is no metric"
print(json.dumps({"rule_files": [rules], "evaluation_interval": "1m", "tests": [worlds()]}))
