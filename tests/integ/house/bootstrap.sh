#!/bin/bash
# scripts/bootstrap: on a machine where all is there it says nothing, for tests or not; where something is
# missing it fetches only what was asked for; and where it may not install, it says so.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 "$SOURCE_DIR/scripts/bootstrap"
[ -z "$out$err" ] || fail "it has something to say: $out $err"
expect 0 "$SOURCE_DIR/scripts/bootstrap" test
[ -z "$out$err" ] || fail "it has something to say: $out $err"

# A tree of its own, and tools that only pretend and note what they were asked.
mkdir -p "$scratch/tree/scripts" "$scratch/stubs"
cp "$SOURCE_DIR/scripts/bootstrap" "$scratch/tree/scripts/"
stub() { # stub NAME, its script on stdin
    { echo '#!/bin/sh' && cat; } >"$scratch/stubs/$1"
    chmod +x "$scratch/stubs/$1"
}
stub dpkg-query <<'SH'
for package; do :; done
[ "$package" = "$(cat "$NOTES/missing" 2>/dev/null)" ] || printf installed
SH
stub apt-get <<'SH'
echo "$*" >>"$NOTES/asked"
case "$*" in
    'update'*) touch "$NOTES/updated" ;;
    *download*) [ ! -e "$NOTES/stale" ] || [ -e "$NOTES/updated" ] || exit 100; : >prometheus_1_all.deb ;;
esac
SH
stub dpkg-deb <<'SH'
mkdir -p "$3/usr/bin"
for program in prometheus promtool; do : >"$3/usr/bin/$program" && chmod +x "$3/usr/bin/$program"; done
SH
stub npm <<'SH'
echo "npm $1" >>"$NOTES/npm" && mkdir -p "$3/node_modules"
SH
stub sudo <<'SH'
exit 1
SH
mkdir "$scratch/notes"
bootstrap() { env NOTES="$scratch/notes" PATH="$scratch/stubs:$PATH" "$scratch/tree/scripts/bootstrap" "$@"; }
asked() { cat "$scratch/notes/asked" 2>/dev/null || true; }

# Without `test`, Prometheus is no reason for a network; with it, current lists need no update.
expect 0 bootstrap
[ -z "$out$err$(asked)" ] || fail "plain: $out $err $(asked)"
expect 0 bootstrap test
for program in prometheus promtool; do
    [ -x "$scratch/tree/.tools/$program" ] || fail "no $program"
done
[ "$(asked)" = 'download -q prometheus' ] || fail "prometheus: $(asked)"
[ "$(cat "$scratch/notes/npm")" = 'npm install' ] || fail "npm: $(cat "$scratch/notes/npm")"
expect 0 bootstrap test
[ -z "$out$err" ] || fail "again: $out $err"
chmod -R a+rwX "$scratch/notes"

chmod -R a+rX "$scratch"
chmod a+rwX "$scratch/notes" "$scratch/tree" "$scratch/tree/.tools"
if [ "$(id -u)" = 0 ]; then
    # Old lists are updated once.
    rm -r "$scratch/tree/.tools" "$scratch/notes/asked"
    touch "$scratch/notes/stale"
    expect 0 bootstrap test
    [ "$(asked | paste -sd, | tr ' ' _)" = 'download_-q_prometheus,update_-q,download_-q_prometheus' ] ||
        fail "stale lists: $(asked)"
    rm "$scratch/notes/stale" "$scratch/notes/updated" "$scratch/notes/asked"

    echo mandoc >"$scratch/notes/missing"
    expect 0 bootstrap
    contains "$out" 'installing mandoc'
    [ "$(asked | paste -sd, | tr ' ' _)" = 'update_-q,install_-q_-y_--no-install-recommends_mandoc' ] ||
        fail "a package: $(asked)"

    # What makes packages is nobody's need who makes none.
    echo lintian >"$scratch/notes/missing"
    expect 0 bootstrap
    [ -z "$out$err" ] || fail "lintian, unasked: $out $err"
    expect 0 bootstrap package
    contains "$out" 'installing lintian'
    echo mandoc >"$scratch/notes/missing"
    as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
else
    echo mandoc >"$scratch/notes/missing"
    as_nobody=()
fi

# `check`, which `make` alone begins with, installs nothing and says what would.
rm -f "$scratch/notes/asked"
expect 1 bootstrap check
[ "$err" = "bootstrap: these packages are missing: mandoc
bootstrap: make bootstrap installs them; make run and make test do that by themselves" ] || fail "check: $err"
[ -z "$(asked)" ] || fail "check, and yet: $(asked)"
expect 0 "$SOURCE_DIR/scripts/bootstrap" check
[ -z "$out$err" ] || fail "check where nothing is missing: $out $err"

# With -j too, the machine is set up before anything is built.
for target in run test install; do
    expect 0 make -C "$SOURCE_DIR" --no-print-directory -n -j8 "$target"
    [ "$(grep -m1 -noE 'scripts/bootstrap|cmake' <<<"$out" | cut -d: -f2)" = scripts/bootstrap ] || fail "$target: $out"
    [ "$(grep -c scripts/bootstrap <<<"$out")" = 1 ] || fail "$target sets up twice: $out"
done
expect 0 make -C "$SOURCE_DIR" --no-print-directory -n
contains "$out" 'scripts/bootstrap check'

# Neither root nor sudo: the whole explanation, and no attempt.
rm -f "$scratch/notes/asked"
chmod a+r "$scratch/notes/missing"
expect 1 "${as_nobody[@]}" env NOTES="$scratch/notes" PATH="$scratch/stubs:$PATH" "$scratch/tree/scripts/bootstrap"
[ "$err" = "bootstrap: these packages are missing: mandoc
bootstrap: run this as root, or as a user with sudo that asks for no password" ] || fail "no root: $err"
[ -z "$(asked)" ] || fail "no root, and yet: $(asked)"
