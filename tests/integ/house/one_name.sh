#!/bin/bash
# One name stands for one thing in the whole tree, and the check finds a second one.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
check() { python3 "$SOURCE_DIR/tests/integ/house/one_name.py" "$1"; }
check "$SOURCE_DIR" || fail "a name of two things"

mkdir -p "$scratch/tree/src/aws" "$scratch/tree/src/core" "$scratch/tree/include/dsql"
wrong() { # wrong TEXT_OF_AWS TEXT_OF_CORE WORDS...
    printf '%s\n' "$1" >"$scratch/tree/src/aws/x.h"
    printf '%s\n' "$2" >"$scratch/tree/src/core/y.h"
    expect 1 check "$scratch/tree"
    for words in "${@:3}"; do contains "$out" "$words"; done
}
for name in 'void dsql_house_key(void);' 'struct dsql_house {' 'typedef int dsql_house_fn(void);' '#define DSQL_HOUSE_KEYS 2' \
    'enum dsql_garden { DSQL_TREE, DSQL_HOUSE_OLD };' '#define X(name) DSQL_HOUSE_##name,'; do
    wrong 'bool dsql_house_door(int);' "$name" 'dsql_house is a word of aws (dsql_house_door), core ('
done
wrong 'struct dsql_house {' 'enum dsql_house {' 'dsql_house is a word of aws'
wrong 'struct dsql_house {' 'struct dsql_house {' 'struct dsql_house is in src/aws/x.h, src/core/y.h'
wrong '/* (Q1) a door is shut; (Q2) a key fits. */' '/* (Q1) a tree is green. */' '(Q1) is a rule of src/aws/x.h, src/core/y.h'
wrong '/* (Q1) a door is shut. */' '/* As (Q3) says. */' '(Q3) is cited in src/core/y.h, and is the rule of no file'
touch "$scratch/tree/src/aws/key.c"
wrong '/* aws: a house. x.c is its door. */' '/* A garden. */' 'src/aws/x.h does not name key.c' \
    "src/core: 0 headers begin with 'core: '"
