#!/bin/bash
# The binary interface of the library is the stored one, and a change of it is seen.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 "$SOURCE_DIR/scripts/abi" "$BUILD_DIR"

mkdir -p "$scratch/tree/scripts" "$scratch/tree/tests/integ/house" "$scratch/tree/include"
cp "$SOURCE_DIR/scripts/abi" "$scratch/tree/scripts/"
cp "$SOURCE_DIR/tests/integ/house/libdsql.abi" "$scratch/tree/tests/integ/house/"
changed() { # changed WHAT HEADER SED-PROGRAM: in a tree of its own, the header is another one
    rm -rf "$scratch/tree/include/dsql"
    cp -r "$SOURCE_DIR/include/dsql" "$scratch/tree/include/"
    sed -i "$3" "$scratch/tree/include/dsql/$2"
    ! cmp -s "$SOURCE_DIR/include/dsql/$2" "$scratch/tree/include/dsql/$2" || fail "$1: nothing to change"
    expect 1 "$scratch/tree/scripts/abi" "$BUILD_DIR"
    contains "$err" 'is not the stored one'
    contains "$out" "$4"
}
changed 'a function that is gone' pool.h 's/dsql_pool_discard(/dsql_pool_drop(/' dsql_pool_discard
changed 'a parameter of another type' pool.h 's/dsql_pool_options_resize(struct dsql_pool_options \*options, int64_t/dsql_pool_options_resize(struct dsql_pool_options *options, int32_t/' dsql_pool_options_resize
changed 'a member before others' err.h 's/^struct dsql_err {/&\n    int more;/' "'int more'"
changed 'a value before others' err.h 's/^    X(EMPTY,/    X(ANOTHER, BUSY, "another") \\\n&/' DSQL_ANOTHER
