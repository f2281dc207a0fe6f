#!/bin/bash
# The status page in a real browser: it draws what /status.json says, keeps itself up to date, breaks
# none of its own rules about scripts, fits a phone, and is a table where scripts are off.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
unset DSQL_ENDPOINT CLUSTER_ENDPOINT
export TMPDIR="$scratch/tmp" HOME="$scratch"
mkdir "$TMPDIR"
chmod 711 "$scratch" "$TMPDIR" # PostgreSQL runs as another user

"$dsql" up --seconds 0 --connections 10 --threads 2 --lifetime 5s --address 127.0.0.1:0 >"$scratch/up.out" 2>"$scratch/up.err" &
pid=$!
trap 'kill $pid 2>/dev/null || true; wait $pid 2>/dev/null || true; rm -rf "$scratch"' EXIT
works() {
    kill -0 $pid || fail "dsql up ended: $(cat "$scratch/up.out" "$scratch/up.err")"
    awk '$2 == "s" && $1 >= 3 {found = 1} END {exit !found}' "$scratch/up.out"
}
eventually works || fail "$(cat "$scratch/up.out")"
page=$(sed -n 's/^status page: \([^ ]*\).*/\1/p' "$scratch/up.out")
[ -n "$page" ] || fail "no status page: $(cat "$scratch/up.out" "$scratch/up.err")"

browse() { # browse OPTION...: the page after some seconds of its own time, in $out; what it complained of in $err
    rm -rf "$scratch/profile"
    timeout 900 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --enable-logging=stderr \
        --user-data-dir="$scratch/profile" "$@" >"$scratch/out" 2>"$scratch/err" || fail "chromium: $(tail -n 5 "$scratch/err")"
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}

# What the page shows, on a machine that may be slow: looked at again until it has polled twice, no poll
# failed, and connections are drawn in their ages.
cat >"$scratch/look.py" <<'PY'
import re, sys
dom = open(sys.argv[1]).read()
body = re.search(r"<body[^>]*>", dom).group(0)
polls = re.search(r'data-polls="(\d+)"', body)
bins = [int(n) for n in re.findall(r'title="(\d+) at ', dom)]
charts = {name: "<path d=\"M" in svg for name, svg in re.findall(r'<svg id="(\w+)"(.*?)</svg>', dom, re.S)}
print(body, bins, charts)
assert polls and int(polls.group(1)) >= 2, "polls"
assert "data-problem" not in body, "a poll failed"
assert len(bins) == 24 and 0 < sum(bins) <= 10, "ages"
assert all(charts[name] for name in ("c_level", "c_opens", "c_checkouts", "c_tx")), "charts"
PY
seen=no
for _ in $(seq 10); do
    browse --window-size=1280,1400 --virtual-time-budget=6000 --dump-dom "$page"
    ! grep -E 'Content Security Policy|Uncaught' "$scratch/err" || fail "the browser complains"
    if python3 "$scratch/look.py" "$scratch/out" >"$scratch/looked" 2>&1; then
        seen=yes
        break
    fi
done
[ $seen = yes ] || fail "the page does not come to life: $(cat "$scratch/looked")"
for part in '<h1 id="title">dsql up</h1>' '>target 10<' 'reservoir mode, at most 10 connections' 'dashed: budget 10' \
    'end of life, 6 s'; do
    contains "$out" "$part"
done
printf '%s\n' "$out" | grep -qE 'class="pill (ready|filling)"' || fail "no state"

# The same page in frames of a phone's width, once without scripts: nothing sticks out to the side, and where
# scripts are off the numbers are in a table.
python3 - "$page" "$scratch" <<'PY'
import html, sys, urllib.request
get = lambda path: urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1] + path, timeout=60).read().decode()
page = get("")
drawn = page.replace("poll();\n</script>", "show(" + get("status.json") + """);
    for (const tag of ["header", "main", "footer"]) document.querySelector(tag).hidden = false;</script>""")
assert drawn != page
frame = lambda name, sandbox, text: f"<iframe id={name} sandbox='{sandbox}' width=360 height=2400 srcdoc=\"{html.escape(text)}\"></iframe>"
open(sys.argv[2] + "/frames.html", "w").write("<meta charset=utf-8><body style='margin:0'>"
    + frame("phone", "allow-scripts allow-same-origin", drawn) + frame("plain", "allow-same-origin", page) + """
<script>
onload = () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const root = frame.contentDocument.documentElement;
    frame.dataset.width = root.scrollWidth;
    frame.dataset.rows = [...frame.contentDocument.querySelectorAll("tr")].map(row => row.innerText.replace(/\\s+/g, " ")).join(";");
    frame.dataset.ready = frame.contentDocument.getElementById("of_target").innerText;
    frame.srcdoc = "";
  }
};
</script>""")
PY
browse --window-size=800,2500 --virtual-time-budget=3000 --dump-dom "file://$scratch/frames.html"
data() { printf '%s\n' "$out" | sed -n "s/.*<iframe id=\"$1\"[^>]* data-$2=\"\([^\"]*\)\".*/\1/p"; }
[ "$(data phone ready)" = 'target 10' ] || fail "the phone shows nothing: $(printf '%s\n' "$out" | grep -o '<iframe id="phone".*')"
[ "$(data phone width)" -le 360 ] || fail "the page is $(data phone width) wide on a phone of 360"
case $(data plain rows) in
    *'target 10;ready '*'checkout p99.9 '*) ;;
    *) fail "no table without scripts: $(data plain rows)" ;;
esac

# The browser can paint it.
for size in 500,2600 1280,1400; do
    browse --window-size=$size --virtual-time-budget=3000 --screenshot="$scratch/$size.png" "$page"
    [ "$(wc -c <"$scratch/$size.png")" -gt 20000 ] || fail "an empty picture at $size"
done
[ -z "${PICTURES:-}" ] || cp "$scratch"/*.png "$scratch/frames.html" "$PICTURES"

kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 0 ] || fail "dsql up ended with $status"
