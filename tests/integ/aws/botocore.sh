#!/bin/bash
# Tokens of `dsql token` against those of botocore, AWS's own signer for Python: random hosts, regions,
# actions, expiries, times and keys, with and without a session token. The two write their parameters
# in different orders, so what is compared is the host and the sorted parameters, signature included.
#
# CASES=n and SEED=n repeat a run.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

DSQL=$dsql /usr/bin/python3 - <<'PYTHON'
import base64
import datetime
import os
import random
import string
import subprocess
import sys
import types

import botocore.auth
import botocore.awsrequest
import botocore.credentials

seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
cases = int(os.environ.get("CASES") or 100)
rng = random.Random(seed)
print(f"seed {seed}, {cases} cases", flush=True)


def text(alphabet, low, high):
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(low, high)))


def make_case():
    region = rng.choice(["us-east-1", "us-east-2", "eu-west-1", "ap-northeast-3", "us-gov-west-1"])
    service = rng.choice(["dsql", "dsql-" + text(string.ascii_lowercase + string.digits, 4, 8)])
    cluster = text(string.ascii_lowercase + string.digits, 26, 26)
    since_1970 = rng.randrange(946684800, 4102444800)
    return {
        "host": f"{cluster}.{service}.{region}.on.aws",
        "region": region,
        "name_region": rng.random() < 0.5,
        "admin": rng.random() < 0.5,
        "expires": rng.choice([None, 1, 450, 604800, rng.randint(1, 604800)]),
        "at": datetime.datetime.fromtimestamp(since_1970, datetime.timezone.utc),
        "key": rng.choice(["AKIA", "ASIA"]) + text(string.ascii_uppercase + string.digits, 16, 16),
        "secret": text(string.ascii_letters + string.digits + "+/", 40, 40),
        "session": rng.choice([None, base64.b64encode(rng.randbytes(rng.randint(1, 1500))).decode()]),
    }


def theirs(case):
    class Then(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return case["at"].replace(tzinfo=None)

    botocore.auth.datetime = types.SimpleNamespace(datetime=Then)
    keys = botocore.credentials.Credentials(case["key"], case["secret"], case["session"])
    action = "DbConnectAdmin" if case["admin"] else "DbConnect"
    request = botocore.awsrequest.AWSRequest("GET", f"https://{case['host']}/?Action={action}")
    expires = 900 if case["expires"] is None else case["expires"]
    botocore.auth.SigV4QueryAuth(keys, "dsql", case["region"], expires).add_auth(request)
    return request.prepare().url.removeprefix("https://")


def ours(case):
    command = [os.environ["DSQL"], "token", "--endpoint", case["host"]]
    command += ["--region", case["region"]] if case["name_region"] else []
    command += rng.choice([["--admin"], ["--user", "admin"], []]) if case["admin"] else ["--user", "app"]
    command += ["--expires", str(case["expires"])] if case["expires"] is not None else []
    command += ["--at", case["at"].strftime("%Y%m%dT%H%M%SZ")]
    env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    for name in ("REGION", "CLUSTER_ENDPOINT", "DSQL_USER"):
        env.pop(name, None)
    env["AWS_ACCESS_KEY_ID"] = case["key"]
    env["AWS_SECRET_ACCESS_KEY"] = case["secret"]
    if case["session"] is not None:
        env["AWS_SESSION_TOKEN"] = case["session"]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def parts(token):
    host, _, query = token.partition("/?")
    return host, sorted(query.split("&"))


for number in range(cases):
    case = make_case()
    wanted = theirs(case)
    if "X-Amz-Date=" + case["at"].strftime("%Y%m%dT%H%M%SZ") not in wanted:
        sys.exit("this botocore takes the time from elsewhere: the test cannot set it")
    try:
        got = ours(case)
    except subprocess.CalledProcessError as error:
        sys.exit(f"case {number}: {case}\n{error}\n{error.stderr}")
    if not got.endswith("\n") or parts(got[:-1]) != parts(wanted):
        sys.exit(f"case {number}: {case}\nours:   {got}\ntheirs: {wanted}")
print(f"{cases} tokens are equal to botocore's")
PYTHON

# Whom it is for is decided as the pool does.
action() { # action WANTED [NAME=VALUE...] [OPTION...]
    local wanted=$1 settings=()
    shift
    while [[ ${1:-} = [A-Z]* ]]; do settings+=("$1") && shift; done
    expect 0 env -u DSQL_USER AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret "${settings[@]}" \
        "$dsql" token --endpoint h.dsql.us-east-1.on.aws "$@"
    contains "$out" "?Action=$wanted&"
    [ -z "$err" ] || fail "it speaks: $err"
}
action DbConnectAdmin
action DbConnectAdmin --admin
action DbConnectAdmin DSQL_USER=app --admin
action DbConnectAdmin DSQL_USER=app --user admin
action DbConnect DSQL_USER=app
action DbConnect DSQL_USER=admin --user app
expect 2 env -u AWS_REGION -u REGION "$dsql" token --endpoint foo
contains "$err" '--region R or AWS_REGION'
expect 2 "$dsql" token --endpoint h.dsql.us-east-1.on.aws:x
contains "$err" "the endpoint's port 'x' is no number from 1 to 65535"
expect 2 "$dsql" token --endpoint h.dsql.us-east-1.on.aws --admin --user app
[ "$err" = 'dsql: --admin and --user=app contradict each other' ] || fail "$err"
