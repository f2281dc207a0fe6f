package dsql

import (
	"context"
	"errors"
	"fmt"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// What the database refuses for what it is must not come as an error that Temporal repeats, and pays for with the shard.
func TestRefusals(t *testing.T) {
	d := open(t, 2)
	tooLarge := &Error{Op: "Commit", Message: "refused", SQLState: "54000", rc: rcTooLarge}
	noText := &Error{Op: "Commit", Message: "refused", SQLState: "22021", rc: rcDatabase}
	noTable := &Error{Op: "Commit", Message: "refused", SQLState: "42P01", rc: rcDatabase}
	neither := func(err error) bool {
		return !isA[*persistence.TransactionSizeLimitError](err) && !isA[*persistence.InvalidPersistenceRequestError](err) && !isA[*serviceerror.InvalidArgument](err)
	}
	for _, c := range []struct {
		operation string
		failed    *Error
		wanted    func(error) bool
	}{
		{"UpdateWorkflowExecution", tooLarge, isA[*persistence.TransactionSizeLimitError]},
		{"UpdateNamespace", tooLarge, isA[*serviceerror.InvalidArgument]},
		{"CreateWorkflowExecution", noText, isA[*persistence.InvalidPersistenceRequestError]},
		{"CreateTasks", noText, isA[*serviceerror.InvalidArgument]},
		{"CreateWorkflowExecution", noTable, neither},
	} {
		_, err := rerun(context.Background(), d.e, c.operation, func(ctx context.Context, _ int) (int, error) {
			note(ctx, true, c.failed)
			return 0, serviceerror.NewUnavailable(c.failed.Error()) // as Temporal's stores word it
		}, 0)
		if !c.wanted(err) {
			t.Errorf("%s, %s: rerun gives %T %v", c.operation, c.failed.SQLState, err, err)
		}
		if err := scriptError(c.operation, c.failed); !c.wanted(err) {
			t.Errorf("%s, %s: a script gives %T %v", c.operation, c.failed.SQLState, err, err)
		}
	}
}

// An execution with more rows than a transaction may change can be deleted, and nothing of it is left.
func TestManyRowsAreDeleted(t *testing.T) {
	o := newWorld(t)
	ctx, workflow, namespace, run := context.Background(), "many", primitives.MustParseUUID(o.namespace), primitives.NewUUID()
	for portion := range 4 {
		rows := make([]sqlplugin.SignalsRequestedSetsRow, 900)
		for i := range rows {
			rows[i] = sqlplugin.SignalsRequestedSetsRow{ShardID: o.shard, NamespaceID: namespace, WorkflowID: workflow, RunID: run, SignalID: fmt.Sprint(portion, "-", i)}
		}
		if _, err := o.f.db.ReplaceIntoSignalsRequestedSets(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	request := &persistence.DeleteWorkflowExecutionRequest{ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: workflow, RunID: run.String()}
	if err := o.stock.executions.DeleteWorkflowExecution(ctx, request); err == nil {
		t.Fatal("3,600 rows fit a transaction: the test shows nothing")
	}
	if err := o.scripts.executions.DeleteWorkflowExecution(ctx, request); err != nil {
		t.Fatal(err)
	}
	left, err := o.f.db.SelectAllFromSignalsRequestedSets(ctx, sqlplugin.SignalsRequestedSetsAllFilter{ShardID: o.shard, NamespaceID: namespace, WorkflowID: workflow, RunID: run})
	if err != nil || len(left) > 0 {
		t.Fatalf("%d rows are left: %v", len(left), err)
	}
}

// A history with more nodes than a transaction may change can be deleted; what another branch has of it stays.
func TestLongHistoryIsDeleted(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	tree, branch := primitives.NewUUID(), primitives.NewUUID()
	for portion := range 4 {
		tx, err := o.f.db.BeginTx(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 900 {
			row := sqlplugin.HistoryNodeRow{
				ShardID: o.shard, TreeID: tree, BranchID: branch, NodeID: int64(900*portion + i + 1), TxnID: 1, Data: []byte("events"), DataEncoding: "Proto3",
			}
			if _, err := tx.InsertIntoHistoryNode(ctx, &row); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	row := sqlplugin.HistoryTreeRow{ShardID: o.shard, TreeID: tree, BranchID: branch, Data: []byte("tree"), DataEncoding: "Proto3"}
	if _, err := o.f.db.InsertIntoHistoryTree(ctx, &row); err != nil {
		t.Fatal(err)
	}
	request := &persistence.InternalDeleteHistoryBranchRequest{
		ShardID: o.shard, BranchInfo: &persistencespb.HistoryBranch{TreeId: tree.String(), BranchId: branch.String()},
		BranchRanges: []persistence.InternalDeleteHistoryBranchRange{{BranchId: branch.String(), BeginNodeId: 11}},
	}
	if err := o.stock.executions.DeleteHistoryBranch(ctx, request); err == nil {
		t.Fatal("3,590 rows fit a transaction: the test shows nothing")
	}
	if err := o.scripts.executions.DeleteHistoryBranch(ctx, request); err != nil {
		t.Fatal(err)
	}
	nodes, err := o.f.db.RangeSelectFromHistoryNode(ctx, sqlplugin.HistoryNodeSelectFilter{
		ShardID: o.shard, TreeID: tree, BranchID: branch, MaxNodeID: 10000, PageSize: 10000,
	})
	if err != nil || len(nodes) != 10 {
		t.Errorf("%d nodes are left: %v", len(nodes), err)
	}
	trees, err := o.f.db.SelectFromHistoryTree(ctx, sqlplugin.HistoryTreeSelectFilter{ShardID: o.shard, TreeID: tree})
	if err != nil || len(trees) > 0 {
		t.Errorf("%d branches are left: %v", len(trees), err)
	}
}

// What certainly does not fit a transaction is refused before anything is sent, for each operation of executions.
func TestTooLargeIsNotSent(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	many := func(n, size int) map[int64]*commonpb.DataBlob {
		all := map[int64]*commonpb.DataBlob{}
		for i := range n {
			all[int64(i)] = blob(string(make([]byte, size)))
		}
		return all
	}
	for _, c := range []struct {
		name    string
		entries map[int64]*commonpb.DataBlob
	}{{"rows", many(3001, 1)}, {"bytes", many(12, 900<<10)}} {
		r := o.current()
		create := o.createRequest(o.newWorkflow(), persistence.CreateWorkflowModeBrandNew)
		create.NewWorkflowSnapshot.ActivityInfos = c.entries
		update := o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)
		update.UpdateWorkflowMutation.UpsertActivityInfos = c.entries
		resolve := o.resolveRequest(r, persistence.ConflictResolveWorkflowModeUpdateCurrent)
		resolve.ResetWorkflowSnapshot.ActivityInfos = c.entries
		set := o.setRequest(r)
		set.SetWorkflowSnapshot.ActivityInfos = c.entries
		for operation, run := range map[string]func() error{
			"CreateWorkflowExecution": func() error {
				_, err := o.scripts.executions.CreateWorkflowExecution(ctx, create)
				return err
			},
			"UpdateWorkflowExecution": func() error { return o.scripts.executions.UpdateWorkflowExecution(ctx, update) },
			"ConflictResolveWorkflowExecution": func() error {
				return o.scripts.executions.ConflictResolveWorkflowExecution(ctx, resolve)
			},
			"SetWorkflowExecution": func() error { return o.scripts.executions.SetWorkflowExecution(ctx, set) },
		} {
			var err error
			if trips := o.w.during(func() { err = run() }); !isA[*persistence.TransactionSizeLimitError](err) || trips != 0 {
				t.Errorf("%s, %s: %d round trips: %T %v", operation, c.name, trips, err, err)
			}
		}
	}
}
