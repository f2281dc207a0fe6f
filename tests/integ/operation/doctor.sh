#!/bin/bash
# `dsql doctor`: says ok where all is well, and names the cause and the cure where something is not.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export AWS_EC2_METADATA_DISABLED=true HOME="$scratch"
unset DSQL_ENDPOINT CLUSTER_ENDPOINT AWS_PROFILE

line() { # line CHECK: the last line of this check, without what to do
    printf '%s\n' "$out" | awk -v check="$1" '$2 == check {line = $0} END {print line}'
}
says() { # says CHECK STATE PART
    case "$(line "$1")" in
        "$2 "*"$3"*) ;;
        *) fail "no '$2 $1 ... $3' in: $out $err" ;;
    esac
}

# Without an endpoint there is little to see, and it says so.
expect 1 "$dsql" doctor
says settings ok 'defaults'
says endpoint FAIL 'no endpoint'
contains "$out" '-> set DSQL_ENDPOINT'
for check in dns tls token connect clock; do says $check skip ''; done
says credentials FAIL ''
# Once: the log says it too, but only to those who ask for it.
[ -z "$err" ] || fail "more than the lines: $err"
DSQL_LOG_LEVEL=error expect 1 "$dsql" doctor
contains "$err" 'level=error event=credentials.failed'
for command in 'schema verify' 'budget status --table t' token; do
    # shellcheck disable=SC2086 # one or two words
    DSQL_TOKEN_DURATION=x expect 1 "$dsql" $command --endpoint h.dsql.us-east-1.on.aws
    contains "$err" 'no AWS credentials'
    [ "$(grep -c 'no AWS credentials' "$scratch/err")" = 1 ] || fail "$command says it twice: $err"
    case $command in # what was adjusted matters for the token
        schema* | token) contains "$err" 'dsql: DSQL_TOKEN_DURATION=x can'"'"'t be used' ;;
    esac
done

# The patients below share one endpoint; each case writes what it saw into a file of its own.
cat >"$scratch/cases.sh" <<'SH'
case_() { # case_ NAME COMMAND...
    local name=$1 status=0
    shift
    "$@" >"$CASES/$name.out" 2>"$CASES/$name.err" || status=$?
    echo $status >"$CASES/$name.status"
}
d() { "$dsql" doctor --timeout 10m "$@"; }
port=$PGPORT
case_ fine d
case_ json d --json
case_ region env DSQL_REGION=eu-west-1 "$dsql" doctor --timeout 10m
case_ secret env AWS_SECRET_ACCESS_KEY=wrong "$dsql" doctor --timeout 10m
case_ key env AWS_ACCESS_KEY_ID=AKIAWRONG "$dsql" doctor --timeout 10m
case_ nokeys env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY -u AWS_SESSION_TOKEN "$dsql" doctor --timeout 10m
case_ refused d --endpoint localhost:1
case_ user d --user nobody_here
case_ roots env -u SSL_CERT_FILE PGSSLROOTCERT= "$dsql" doctor --timeout 10m
case_ noroots env PGSSLROOTCERT=/nonexistent "$dsql" doctor --timeout 10m
case_ mismatch d --endpoint "another.name:$port"
case_ warn env DSQL_POOL_MAX_OPN=5 DSQL_RESERVOIR_ENABLED=true "$dsql" doctor --timeout 10m
case_ past env LD_PRELOAD="$SHIFT" SHIFT_S=-1500 "$dsql" doctor --timeout 10m
case_ future env LD_PRELOAD="$SHIFT" SHIFT_S=1500 "$dsql" doctor --timeout 10m
case_ budget env DSQL_BUDGET=blocks DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1 \
    "$dsql" doctor --timeout 10m
case_ files bash -c 'ulimit -n 100; exec "$dsql" doctor --timeout 10m'
true
SH
# A machine whose clock is wrong: only the wall clock, and only for the program itself.
cat >"$scratch/shift.c" <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static time_t shift(void) { return atol(getenv("SHIFT_S")); }
int clock_gettime(clockid_t id, struct timespec *t)
{
    int failed = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        t->tv_sec += shift();
    return failed;
}
time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *tv = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}
C
export CASES="$scratch/cases" SHIFT="$scratch/shift.so"
"$CC" -shared -fPIC -o "$SHIFT" "$scratch/shift.c"
mkdir "$CASES"
expect 0 "$dsql" local exec -- bash "$scratch/cases.sh"
result() { # result NAME STATUS
    out=$(cat "$CASES/$1.out")
    err=$(cat "$CASES/$1.err")
    [ "$(cat "$CASES/$1.status")" = "$2" ] || fail "$1 ended with $(cat "$CASES/$1.status"): $out $err"
}

result fine 0
for check in settings limits endpoint dns tls credentials token connect clock budget; do says $check ok ''; done
says endpoint ok 'region us-east-1'
says dns ok 'localhost is 127.0.0.1'
says tls ok 'TLSv1.3'
says credentials ok 'environment'
says token ok 'DbConnectAdmin for the role admin'
says connect ok 'as admin'
contains "$out" ' 0 failed'
# No secret ever.
! grep -rqE 'X-Amz-Signature|X-Amz-Credential' "$CASES" || fail "a token was shown"

result json 0
python3 - "$CASES/json.out" <<'PY' || fail "the JSON: $out"
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["failed"] == 0, answer
names = [check["check"] for check in answer["checks"]]
assert names == ["settings", "limits", "endpoint", "dns", "tls", "credentials", "token", "connect", "clock", "budget"], names
assert all(check["state"] == "ok" and check["found"] for check in answer["checks"]), answer
PY

result region 1
says connect FAIL 'scoped to a valid region'
contains "$out" '-> the token is for another region'
result secret 1
says connect FAIL 'signature we calculated does not match'
contains "$out" '-> the secret key does not belong to the access key'
result key 1
says connect FAIL 'security token included in the request is invalid'
result nokeys 1
says credentials FAIL ''
says token skip 'needs credentials'
says connect skip ''
result refused 1
says tls FAIL 'Connection refused'
contains "$out" '-> nothing listens there'
says connect skip 'needs an endpoint that answers'
result user 1
says token ok 'DbConnect for the role nobody_here'
says connect FAIL ''
result roots 1
says tls FAIL 'is not trusted'
result noroots 1
says tls FAIL "can't read the trusted roots in /nonexistent"
result mismatch 1
says tls FAIL 'hostname mismatch'
contains "$out" 'DSQL_HOSTADDR'
result warn 0
says settings warn 'DSQL_POOL_MAX_OPN'
contains "$out" 'DSQL_RESERVOIR_BASE_LIFETIME=55m'
says connect ok ''
result past 1
says connect FAIL 'Signature expired'
says clock FAIL ''
contains "$out" '-> set the clock'
result future 1
says connect FAIL 'not yet current'
says clock FAIL ''
result budget 1
says connect ok ''
says budget FAIL 'table fleet in us-east-1'
contains "$out" '-> check the network, the region and AWS_ENDPOINT_URL_DYNAMODB'
result files 1
contains "$out" 'this process may open 100 files'

# What only looks like an endpoint: one without TLS, one that hangs up, one that says nothing. And a
# clock to compare with that is an hour ahead.
cat >"$scratch/odd.py" <<'PY'
import http.server, socket, sys, threading, time
from email.utils import formatdate
def serve(name, act):
    listener = socket.create_server(("127.0.0.1", 0))
    open(f"{sys.argv[1]}/{name}.new", "w").write(str(listener.getsockname()[1]))
    def run():
        while True:
            peer, _ = listener.accept()
            act(peer)
    threading.Thread(target=run, daemon=True).start()
kept = []
def plain(peer): peer.recv(8); peer.sendall(b"N"); peer.close()
def rude(peer): peer.recv(8); peer.close()
def mute(peer): kept.append(peer)
class Ahead(http.server.BaseHTTPRequestHandler):
    def date_time_string(self, timestamp=None): return formatdate(time.time() + 3600, usegmt=True)
    def do_GET(self): self.send_response(302); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *args): pass
ahead = http.server.HTTPServer(("127.0.0.1", 0), Ahead)
open(f"{sys.argv[1]}/ahead.new", "w").write(str(ahead.server_port))
serve("plain", plain), serve("rude", rude), serve("mute", mute)
open(f"{sys.argv[1]}/all", "w").close()
ahead.serve_forever()
PY
mkdir "$scratch/ports"
python3 "$scratch/odd.py" "$scratch/ports" &
eventually test -e "$scratch/ports/all"
export DSQL_REGION=us-east-1 AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret PGHOSTADDR=127.0.0.1
port() { cat "$scratch/ports/$1.new"; }
expect 1 "$dsql" doctor --endpoint "localhost:$(port plain)" --timeout 10m
says tls FAIL 'answers without TLS'
expect 1 "$dsql" doctor --endpoint "localhost:$(port rude)" --timeout 10m
says tls FAIL 'closed the connection'
expect 1 "$dsql" doctor --endpoint "localhost:$(port mute)" --timeout 500ms
says tls FAIL 'does not answer'
AWS_ENDPOINT_URL_STS=http://127.0.0.1:$(port ahead)
export AWS_ENDPOINT_URL_STS
expect 1 "$dsql" doctor --endpoint "localhost:$(port rude)" --timeout 10m
says clock FAIL 'behind the clock of AWS STS'
unset AWS_ENDPOINT_URL_STS PGHOSTADDR

# Names that can't be, and options that can't be read.
expect 1 "$dsql" doctor --endpoint no-such-host.invalid --timeout 5s
says dns FAIL 'no-such-host.invalid'
says tls skip ''
expect 1 "$dsql" doctor --endpoint abcdefghijklmnopqrstuvwxyz.dsql.eu-west-1.on.aws --region us-east-1
says endpoint FAIL ''
expect 2 "$dsql" doctor --timeout soon
contains "$err" '--timeout=soon is no duration'
