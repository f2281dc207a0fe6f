package dsql

import (
	"context"
	"testing"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

type appended = []*persistence.InternalAppendHistoryNodesRequest

// written counts the nodes and branches that are there of these events.
func (o *world) written(all ...appended) (rows int) {
	o.t.Helper()
	ctx := context.Background()
	for _, events := range all {
		for _, one := range events {
			tree, branch := primitives.MustParseUUID(one.BranchInfo.TreeId), primitives.MustParseUUID(one.BranchInfo.BranchId)
			nodes, err := o.f.db.RangeSelectFromHistoryNode(ctx, sqlplugin.HistoryNodeSelectFilter{
				ShardID: one.ShardID, TreeID: tree, BranchID: branch, MinNodeID: one.Node.NodeID - 1, MaxNodeID: one.Node.NodeID + 1, PageSize: 10,
			})
			if err != nil {
				o.t.Fatal(err)
			}
			trees, err := o.f.db.SelectFromHistoryTree(ctx, sqlplugin.HistoryTreeSelectFilter{ShardID: one.ShardID, TreeID: tree})
			if err != nil {
				o.t.Fatal(err)
			}
			rows += len(nodes) + len(trees)
		}
	}
	return rows
}

// An operation that is refused leaves no events behind: nobody would ever delete those of a run that was not created.
// One that is refused once, and would not be any more, is carried out.
func TestARefusedOperationLeavesNoHistory(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	create := func() (func(stores) error, appended) {
		q := o.createRequest(o.newRun(o.current().workflow), persistence.CreateWorkflowModeBrandNew)
		return func(s stores) error {
			_, err := s.executions.CreateWorkflowExecution(ctx, q)
			return err
		}, q.NewWorkflowNewEvents
	}
	stale := func() (func(stores) error, appended) {
		q := o.createRequest(o.newWorkflow(), persistence.CreateWorkflowModeBrandNew)
		q.RangeID--
		return func(s stores) error {
			_, err := s.executions.CreateWorkflowExecution(ctx, q)
			return err
		}, q.NewWorkflowNewEvents
	}
	update := func() (func(stores) error, appended) {
		r := o.current()
		q := o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)
		next := o.snapshot(o.newRun(r.workflow))
		q.NewWorkflowSnapshot, q.NewWorkflowNewEvents = &next, o.events(true)
		q.UpdateWorkflowMutation.DBRecordVersion = 9
		return func(s stores) error { return s.executions.UpdateWorkflowExecution(ctx, q) }, append(q.NewWorkflowNewEvents, q.UpdateWorkflowNewEvents...)
	}
	resolve := func() (func(stores) error, appended) {
		q := o.resolveRequest(o.current(), persistence.ConflictResolveWorkflowModeUpdateCurrent)
		q.ResetWorkflowSnapshot.DBRecordVersion = 9
		return func(s stores) error { return s.executions.ConflictResolveWorkflowExecution(ctx, q) }, q.ResetWorkflowEventsNewEvents
	}
	for name, prepare := range map[string]func() (func(stores) error, appended){
		"another run is current": create, "shard wrong": stale, "version wrong": update, "reset, version wrong": resolve,
	} {
		run, events := prepare()
		if err := run(o.stock); err == nil || o.written(events) == 0 {
			t.Errorf("%s: Temporal's own store gives %v and leaves nothing: the test shows nothing", name, err)
		}
		run, events = prepare()
		if err := run(o.scripts); err == nil {
			t.Errorf("%s: is not refused", name)
		}
		if n := o.written(events); n > 0 {
			t.Errorf("%s: %d rows are left", name, n)
		}
	}

	r := o.newWorkflow()
	request := o.createRequest(r, persistence.CreateWorkflowModeBrandNew)
	_, err := operate(ctx, o.f.db.e, "CreateWorkflowExecution", func(ctx context.Context) (struct{}, error) {
		_, err, over := rehearsed(ctx, "CreateWorkflowExecution", o.stock.executions.CreateWorkflowExecution, request)
		if over {
			t.Errorf("what would be carried out ends in its rehearsal: %v", err)
		}
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := o.written(request.NewWorkflowNewEvents); n > 0 {
		t.Errorf("a rehearsal leaves %d rows", n)
	}
	if _, err := o.scripts.executions.CreateWorkflowExecution(ctx, request); err != nil || o.written(request.NewWorkflowNewEvents) == 0 {
		t.Errorf("after its rehearsal: %v", err)
	}
}
