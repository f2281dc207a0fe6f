#!/bin/bash
# What is made from the catalogue of the store: the adapter's argument lists are those of today's catalogue, and a
# catalogue that does not fit together is refused with its reason.
# shellcheck disable=SC2016 # the dollars are those of the catalogue
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
mkdir -p "$scratch/cmake" "$scratch/src/temporal" "$scratch/schema/dsql/v12/temporal"
cp "$SOURCE_DIR/cmake/catalog.py" "$scratch/cmake/"
cp "$SOURCE_DIR/schema/dsql/v12/temporal/schema.sql" "$scratch/schema/dsql/v12/temporal/"
from=$SOURCE_DIR/src/temporal/catalog.txt
to=$scratch/src/temporal/catalog.txt

"$SOURCE_DIR/cmake/catalog.py" --go | cmp - "$SOURCE_DIR/integrations/temporal/dsql/catalog.go" ||
    fail "integrations/temporal/dsql/catalog.go is not made from this catalogue: make docs"

# refused MESSAGE SED: the catalogue with this change.
refused() {
    sed "$2" "$from" >"$to"
    ! cmp -s "$from" "$to" || fail "nothing was changed: $2"
    expect 1 "$scratch/cmake/catalog.py" "$scratch/made"
    contains "$err" "$1"
}
cp "$from" "$to"
expect 0 "$scratch/cmake/catalog.py" "$scratch/made"
for file in dsql/temporal_ops.h temporal/catalog.h temporal/catalog.c; do
    cmp "$scratch/made/$file" "$BUILD_DIR/generated/$file" || fail "$file is not made from this catalogue"
done
touch -d '1 hour ago' "$scratch/made/temporal/catalog.h"
expect 0 "$scratch/cmake/catalog.py" "$scratch/made"
[ -z "$(find "$scratch/made/temporal/catalog.h" -newermt '-30 minutes')" ] || fail "a file that is right was written anew"

refused 'UpdateShards: $before.rangeid is no parameter' 's/\$before\.range_id, range_id)/$before.rangeid, range_id)/'
refused 'DeleteFromMessages: $queue is no parameter' '/^exec DeleteFromMessages/,/sql/s/WHERE \[in.is\]/WHERE queue_type = $queue/'
refused 'the keys are not its first fields, or the tokens not behind them' 's/^  checks shard(shard_id): range_id/  checks shard(shard_id): data/'
refused 'the keys are not its first fields, or the tokens not behind them' 's/^  locks shard(shard_id)/  locks nobody(shard_id)/'
refused 'ExpectShard: it expects nothing' '/^expect ExpectShard/,/when/{/^  expects/d}'
refused 'I5 is no type' 's/range_id I8, \[DATA\]/range_id I5, [DATA]/'
refused '[DATUM.set] is nothing' 's/\[DATA.set\]/[DATUM.set]/'
refused 'metadata is true is no condition' 's/when metadata_only is true/when metadata is true/'
refused 'what is select?' 's/^one SelectFromShards/select SelectFromShards/'
refused 'unknown flag' 's/^exec InsertIntoShards/exec InsertIntoShards quickly/'
refused 'SelectFromShards: columns are for queries' '/^one SelectFromShards/,/sql/{/^  out/d;s/\[out.names\]/1/}'
# What would leave parts of large values behind, or take them away too early.
refused 'UpdateQueueV2Metadata: metadata_payload stays, and its parts would not' 's/UPDATE queues SET \[METADATA.set\]/UPDATE queues SET metadata_encoding = $metadata_encoding/'
refused 'InsertIntoQueueV2Messages: parts would be added without their row' 's/\(INSERT INTO queue_messages .*\)$/\1 ON CONFLICT DO NOTHING/'
refused 'two statements with a limit need an order to mean the same rows' 's/ ORDER BY node_id, txn_id LIMIT \$portion/ LIMIT $portion/'
