package dsql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

func open(t *testing.T, maxConns int) *db {
	t.Helper()
	if os.Getenv("DSQL_ENDPOINT") == "" {
		t.Skip("no cluster: 'make temporal-test' brings one")
	}
	opened, err := plugin{}.CreateDB(sqlplugin.DbKindMain, SQLConfig(map[string]any{"maxConns": maxConns}), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*db)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func shard(id int32, rangeID int64) *sqlplugin.ShardsRow {
	return &sqlplugin.ShardsRow{ShardID: id, RangeID: rangeID, Data: []byte("data"), DataEncoding: "Proto3"}
}

// bump adds one to a shard's range id in a transaction, as Temporal's stores write: errors become text.
func bump(ctx context.Context, d *db, id int32, between func()) error {
	t, err := d.BeginTx(ctx)
	if err != nil {
		return errors.New(err.Error())
	}
	rangeID, err := t.WriteLockShards(ctx, sqlplugin.ShardsFilter{ShardID: id})
	if err == nil {
		between()
		_, err = t.UpdateShards(ctx, shard(id, rangeID+1))
	}
	if err != nil {
		_ = t.Rollback()
		return errors.New(err.Error())
	}
	if err := t.Commit(); err != nil {
		return errors.New(err.Error())
	}
	return nil
}

func rangeID(t *testing.T, d *db, id int32) int64 {
	t.Helper()
	row, err := d.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: id})
	if err != nil {
		t.Fatal(err)
	}
	return row.RangeID
}

func newShard(t *testing.T, d *db) int32 {
	t.Helper()
	id := int32(time.Now().UnixNano() & 0x7fffffff)
	if _, err := d.InsertIntoShards(context.Background(), shard(id, 0)); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestConflictIsRunAgain(t *testing.T) {
	d := open(t, 10)
	id, ctx := newShard(t, d), context.Background()
	runs := 0
	err := rerunErr(ctx, d.e, "test", func(ctx context.Context, _ struct{}) error {
		runs++
		return bump(ctx, d, id, func() {
			if runs == 1 { // another owner is faster
				if err := bump(context.Background(), d, id, func() {}); err != nil {
					t.Error(err)
				}
			}
		})
	}, struct{}{})
	if err != nil || runs != 2 || rangeID(t, d, id) != 2 {
		t.Fatalf("%d runs, range id %d: %v", runs, rangeID(t, d, id), err)
	}
}

func TestNothingElseIsRunAgain(t *testing.T) {
	d := open(t, 10)
	for _, wanted := range []error{errors.New("other"), sql.ErrNoRows, &persistence.ConditionFailedError{Msg: "no"}} {
		runs := 0
		err := rerunErr(context.Background(), d.e, "test", func(context.Context, struct{}) error {
			runs++
			return wanted
		}, struct{}{})
		if runs != 1 || err != wanted {
			t.Fatalf("%d runs: %v", runs, err)
		}
	}
}

func TestUnknownCommitIsATimeout(t *testing.T) {
	d := open(t, 10)
	var ofShard *persistence.TimeoutError
	var outside *serviceerror.DeadlineExceeded
	for operation, timeout := range map[string]any{
		"RangeCompleteHistoryTasks": &ofShard, "ForkHistoryBranch": &ofShard, "GetOrCreateShard": &ofShard,
		"CreateTaskQueue": &outside, "CreateNamespace": &outside, "CreateOrUpdateNexusEndpoint": &outside,
	} {
		runs := 0
		err := rerunErr(context.Background(), d.e, operation, func(ctx context.Context, _ struct{}) error {
			runs++
			note(ctx, true, &Error{Op: "Commit", Message: "no answer", rc: rcCommitUnknown})
			return errors.New("text")
		}, struct{}{})
		if runs != 1 || !errors.As(err, timeout) {
			t.Errorf("%s: %d runs: %T: %v", operation, runs, err, err)
		}
	}
}

// A call that waits for its place ends with its context, one inside a transaction is refused when its own
// has ended; and as soon as there is room again, calls pass.
func TestContextWakes(t *testing.T) {
	d := open(t, 2)
	var held []sqlplugin.Tx
	for range 2 {
		held = append(held, begin(t, d, context.Background()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := d.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: 1}); err != context.DeadlineExceeded {
		t.Fatalf("waiting for a place: %v", err)
	}
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	if _, err := held[0].SelectFromShards(cancelled, sqlplugin.ShardsFilter{ShardID: 1}); err != context.Canceled {
		t.Fatalf("in a transaction: %v", err)
	}
	for _, tx := range held {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: -1}); err != sql.ErrNoRows {
		t.Fatalf("afterwards: %v", err)
	}
}

// Many goroutines, few connections, contexts that end at any time: no place is lost.
func TestPlacesComeBack(t *testing.T) {
	d := open(t, 3)
	id := newShard(t, d)
	var work sync.WaitGroup
	var done atomic.Int64
	for i := range 30 {
		work.Go(func() {
			for j := range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(i*j)%40)*time.Millisecond)
				if bump(ctx, d, id, func() {}) == nil {
					done.Add(1)
				}
				cancel()
			}
		})
	}
	work.Wait()
	if len(d.e.gate) != 0 {
		t.Fatalf("%d places are taken", len(d.e.gate))
	}
	// Each transaction that was given up has cost its connection; new ones come as the budget allows.
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := bump(context.Background(), d, id, func() {})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if got := rangeID(t, d, id); got < done.Load()+1 {
		t.Fatalf("%d commits were acknowledged, %d are there", done.Load()+1, got)
	}
}
