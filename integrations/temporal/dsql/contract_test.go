package dsql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// What Temporal's stores rely on beyond the signatures. Temporal's suites cover most of it; here it is on
// its own, so that a failure says what it is.

func affected(t *testing.T, res sql.Result, err error) int64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Stores compare with ==.
func TestNoRowsIsTheBareSentinel(t *testing.T) {
	d, ctx := open(t, 4), context.Background()
	tx, err := d.BeginTx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for name, q := range map[string]sqlplugin.TableCRUD{"on the pool": d, "in a transaction": tx} {
		if _, err := q.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: -7}); err != sql.ErrNoRows {
			t.Errorf("%s, a row: %v", name, err)
		}
		if _, err := q.WriteLockShards(ctx, sqlplugin.ShardsFilter{ShardID: -7}); err != sql.ErrNoRows {
			t.Errorf("%s, a lock: %v", name, err)
		}
		rows, err := q.RangeSelectFromTransferTasks(ctx, sqlplugin.TransferTasksRangeFilter{ShardID: -7, ExclusiveMaxTaskID: 9, PageSize: 9})
		if rows != nil || err != nil {
			t.Errorf("%s, a list: %v, %v", name, rows, err)
		}
	}
}

func TestRowCounts(t *testing.T) {
	d, ctx := open(t, 4), context.Background()
	id := newShard(t, d)
	var tasks []sqlplugin.TransferTasksRow
	for n := range int64(5) {
		tasks = append(tasks, sqlplugin.TransferTasksRow{ShardID: id, TaskID: n, Data: []byte("d"), DataEncoding: "e"})
	}
	res, err := d.InsertIntoTransferTasks(ctx, tasks)
	if n := affected(t, res, err); n != 5 {
		t.Errorf("%d rows were inserted", n)
	}
	_, err = d.InsertIntoTransferTasks(ctx, tasks[:1])
	if !d.IsDupEntryError(err) {
		t.Errorf("a key that is there: %v", err)
	}
	res, err = d.RangeDeleteFromTransferTasks(ctx, sqlplugin.TransferTasksRangeFilter{ShardID: id, InclusiveMinTaskID: 1, ExclusiveMaxTaskID: 4})
	if n := affected(t, res, err); n != 3 {
		t.Errorf("%d rows were deleted", n)
	}
	activity := []sqlplugin.ActivityInfoMapsRow{{
		ShardID: id, NamespaceID: primitives.NewUUID(), WorkflowID: "w", RunID: primitives.NewUUID(), ScheduleID: 1,
		Data: []byte("d"), DataEncoding: "e",
	}}
	for range 2 { // the second time it replaces
		res, err = d.ReplaceIntoActivityInfoMaps(ctx, activity)
		if n := affected(t, res, err); n != 1 {
			t.Errorf("%d rows were replaced", n)
		}
	}
}

// Microseconds, UTC, and the zero time comes back as such.
func TestTimes(t *testing.T) {
	d, ctx := open(t, 4), context.Background()
	id := newShard(t, d)
	zone := time.FixedZone("east", 5*3600)
	given := []time.Time{
		{},
		time.Date(2026, 11, 16, 14, 0, 0, 123456789, zone),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	}
	for n, at := range given {
		res, err := d.InsertIntoTimerTasks(ctx, []sqlplugin.TimerTasksRow{{
			ShardID: id, VisibilityTimestamp: at, TaskID: int64(n), Data: []byte("d"), DataEncoding: "e",
		}})
		affected(t, res, err)
	}
	rows, err := d.RangeSelectFromTimerTasks(ctx, sqlplugin.TimerTasksRangeFilter{
		ShardID: id, ExclusiveMaxVisibilityTimestamp: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC).Add(time.Hour), PageSize: 10,
	})
	if err != nil || len(rows) != len(given) {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for n, row := range rows {
		if want := given[n].UTC().Truncate(time.Microsecond); row.VisibilityTimestamp != want {
			t.Errorf("%v came back as %v", given[n], row.VisibilityTimestamp)
		}
	}
}

// A history node's transaction id is turned round once for each call, as Temporal's own plugins do, however
// often libdsql runs the statement; nothing else of the row changes.
func TestHistoryNodeIsTurnedRoundOnce(t *testing.T) {
	d, ctx := open(t, 4), context.Background()
	row := sqlplugin.HistoryNodeRow{
		ShardID: newShard(t, d), TreeID: primitives.NewUUID(), BranchID: primitives.NewUUID(), NodeID: 1, TxnID: 12,
		PrevTxnID: 11, Data: []byte("d"), DataEncoding: "e",
	}
	before := row
	for want := int64(-12); want <= 12; want += 24 {
		if _, err := d.InsertIntoHistoryNode(ctx, &row); err != nil {
			t.Fatal(err)
		}
		if row.TxnID != want {
			t.Fatalf("the transaction id is %d, not %d", row.TxnID, want)
		}
	}
	if !bytes.Equal(row.Data, before.Data) || row.NodeID != before.NodeID || row.PrevTxnID != before.PrevTxnID {
		t.Fatalf("%+v was %+v", row, before)
	}
}

// A fence that did not hold is Temporal's own error where there is one; else the stores make it unavailable.
func TestFailedFences(t *testing.T) {
	var shardLost *persistence.ShardOwnershipLostError
	var execution *persistence.WorkflowConditionFailedError
	var current *persistence.CurrentWorkflowConditionFailedError
	failed := Error{Op: "Update", rc: rcConditionFailed}
	for entity, target := range map[string]any{"shard": &shardLost, "execution": &execution, "current execution": &current} {
		failed.Entity, failed.Key = entity, "17"
		if err := inner(&failed); !errors.As(err, target) {
			t.Errorf("%s: %T", entity, err)
		}
	}
	if shardLost == nil || shardLost.ShardID != 17 {
		t.Errorf("the shard is %+v", shardLost)
	}
	failed.Entity = "task queue"
	if err := inner(&failed); err != error(&failed) {
		t.Errorf("task queue: %T", err)
	}
}
