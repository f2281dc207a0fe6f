# What sim_mutants.sh, keeper_mutants.sh and tx_mutants.sh share. Sourced from the root of the tree. A script has its
# deliberate bugs in $mutants, a row each: name | file below $below | what is replaced | by what.
# shellcheck shell=bash disable=SC2154 # mutants is the script's
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
export CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1
below=
targets=()

build() { ninja -C "$scratch/build" "${targets[@]}" >"$scratch/log" 2>&1; }

# copy_tree TARGET...: a copy of the tree in $scratch, with these programs built in $scratch/build.
copy_tree() {
    local launcher=()
    targets=("$@")
    git ls-files -z -- CMakeLists.txt cmake src include scenarios tests bench docs schema scripts |
        tar --null -T - -c | tar -x -C "$scratch"
    ! command -v ccache >/dev/null || launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake -G Ninja -S "$scratch" -B "$scratch/build" --log-level=WARNING -DDSQL_WERROR=OFF "${launcher[@]}" >/dev/null
    build || { tail "$scratch/log"; exit 1; }
}

# each_mutant JUDGE [NAME...]: builds the copy with each of the bugs, or with those named, and calls `JUDGE NAME`, which
# says who caught it and fails if it survived. Fails if one survived.
each_mutant() {
    local judge=$1 failed=0 name file from to
    shift
    while IFS='|' read -r name file from to; do
        [ -n "$name" ] || continue
        [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
        file=$scratch/$below$file
        cp "$file" "$scratch/saved"
        sed -i "s|$from|$to|" "$file"
        ! cmp -s "$file" "$scratch/saved" || { echo "$name: ${file##*/} has changed: the bug finds no place"; exit 1; }
        build || { echo "$name does not build"; tail "$scratch/log"; exit 1; }
        "$judge" "$name" || failed=1
        cp "$scratch/saved" "$file"
    done <<<"$mutants"
    return $failed
}
