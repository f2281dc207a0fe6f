package dsql

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	enumsspb "go.temporal.io/server/api/enums/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/service/history/tasks"
)

// A cell is an operation in one mode that meets what it expects, or something else. It is prepared anew for each
// store that runs it.
type cell struct {
	name    string
	prepare func(*world) func(stores) error
}

// An upset makes one thing other than the request says.
type upset[Q any] struct {
	name  string
	apply func(*world, *workflowRun, Q)
}

// An operation has a request about a run; what it answers besides an error does not matter here.
type operation[Q any] struct {
	name    string
	request func(*world) (*workflowRun, Q)
	run     func(stores, Q) error
	upsets  []upset[Q]
}

// cells are the operation as its request says, with each upset, and with each two of them: of several guards that
// do not hold, the one that Temporal's store looks at first is what its error is about.
func (op operation[Q]) cells() []cell {
	of := func(name string, upsets ...upset[Q]) cell {
		return cell{name, func(o *world) func(stores) error {
			run, request := op.request(o)
			for _, u := range upsets {
				u.apply(o, run, request)
			}
			return func(s stores) error { return op.run(s, request) }
		}}
	}
	all := []cell{of(op.name + "/right")}
	for i, one := range op.upsets {
		all = append(all, of(op.name+"/"+one.name, one))
		for _, other := range op.upsets[i+1:] {
			all = append(all, of(op.name+"/"+one.name+" and "+other.name, one, other))
		}
	}
	return all
}

const elsewhere = "none" // a workflow, or a task queue, that is not there

type (
	createQ      = *persistence.InternalCreateWorkflowExecutionRequest
	updateQ      = *persistence.InternalUpdateWorkflowExecutionRequest
	resolveQ     = *persistence.InternalConflictResolveWorkflowExecutionRequest
	setQ         = *persistence.InternalSetWorkflowExecutionRequest
	addTasksQ    = *persistence.InternalAddHistoryTasksRequest
	updateShardQ = *persistence.InternalUpdateShardRequest
	updateQueueQ = *persistence.InternalUpdateTaskQueueRequest
	createTasksQ = *persistence.InternalCreateTasksRequest
	deleteQueueQ = *persistence.DeleteTaskQueueRequest
)

func sameTaskTwice(of map[tasks.Category][]persistence.InternalHistoryTask) {
	transfer := of[tasks.CategoryTransfer]
	transfer[1] = transfer[0]
}

func createCells(name string, mode persistence.CreateWorkflowMode) []cell {
	return operation[createQ]{
		name: "create/" + name,
		request: func(o *world) (*workflowRun, createQ) {
			if mode != persistence.CreateWorkflowModeUpdateCurrent {
				r := o.newWorkflow()
				return r, o.createRequest(r, mode)
			}
			before := o.current()
			r := o.newRun(before.workflow)
			request := o.createRequest(r, mode)
			request.PreviousRunID, request.PreviousLastWriteVersion = before.id, 11
			return r, request
		},
		run: func(s stores, request createQ) error {
			_, err := s.executions.CreateWorkflowExecution(context.Background(), request)
			return err
		},
		upsets: []upset[createQ]{
			{"shard wrong", func(_ *world, _ *workflowRun, q createQ) { q.RangeID-- }},
			{"shard missing", func(_ *world, _ *workflowRun, q createQ) { q.ShardID = -3 }},
			{"another run is current", func(o *world, _ *workflowRun, q createQ) { q.NewWorkflowSnapshot.WorkflowID = o.current().workflow }},
			{"is there as a zombie", func(o *world, _ *workflowRun, q createQ) {
				again := o.newRun(q.NewWorkflowSnapshot.WorkflowID)
				again.id = q.NewWorkflowSnapshot.RunID
				o.create(again, persistence.CreateWorkflowModeBypassCurrent)
			}},
			{"is the current run", func(o *world, _ *workflowRun, q createQ) { q.NewWorkflowSnapshot = o.snapshot(o.current()) }},
			{"previous run wrong", func(o *world, _ *workflowRun, q createQ) { q.PreviousRunID = o.id() }},
			{"previous version wrong", func(_ *world, _ *workflowRun, q createQ) { q.PreviousLastWriteVersion++ }},
			{"previous run not ended", func(o *world, _ *workflowRun, q createQ) {
				running := o.newWorkflow()
				running.state = enumsspb.WORKFLOW_EXECUTION_STATE_RUNNING
				o.create(running, persistence.CreateWorkflowModeBrandNew)
				q.NewWorkflowSnapshot.WorkflowID, q.PreviousRunID = running.workflow, running.id
			}},
			{"workflow missing", func(o *world, _ *workflowRun, q createQ) { q.NewWorkflowSnapshot.WorkflowID = "new-" + o.id() }},
			{"a task twice", func(_ *world, _ *workflowRun, q createQ) { sameTaskTwice(q.NewWorkflowSnapshot.Tasks) }},
			{"mode unknown", func(_ *world, _ *workflowRun, q createQ) { q.Mode = 99 }},
		},
	}.cells()
}

func updateCells(name string, mode persistence.UpdateWorkflowMode, continues bool) []cell {
	upsets := []upset[updateQ]{
		{"shard wrong", func(_ *world, _ *workflowRun, q updateQ) { q.RangeID-- }},
		{"shard missing", func(_ *world, _ *workflowRun, q updateQ) { q.ShardID = -3 }},
		{"version wrong", func(_ *world, _ *workflowRun, q updateQ) { q.UpdateWorkflowMutation.DBRecordVersion = 9 }},
		{"by next event", func(_ *world, _ *workflowRun, q updateQ) { q.UpdateWorkflowMutation.DBRecordVersion = 0 }},
		{"next event wrong", func(_ *world, _ *workflowRun, q updateQ) {
			q.UpdateWorkflowMutation.DBRecordVersion, q.UpdateWorkflowMutation.Condition = 0, 99
		}},
		{"workflow missing", func(_ *world, _ *workflowRun, q updateQ) { q.UpdateWorkflowMutation.WorkflowID = elsewhere }},
		{"is a zombie", func(o *world, r *workflowRun, q updateQ) { q.UpdateWorkflowMutation = o.mutation(o.zombie(r)) }},
		{"is the current run", func(o *world, _ *workflowRun, q updateQ) { q.UpdateWorkflowMutation = o.mutation(o.current()) }},
		{"no run is current", func(o *world, _ *workflowRun, q updateQ) {
			q.UpdateWorkflowMutation = o.mutation(o.zombie(o.newWorkflow()))
		}},
		{"a task twice", func(_ *world, _ *workflowRun, q updateQ) { sameTaskTwice(q.UpdateWorkflowMutation.Tasks) }},
		{"mode unknown", func(_ *world, _ *workflowRun, q updateQ) { q.Mode = 99 }},
	}
	if continues {
		name += ", with a new run"
		upsets = []upset[updateQ]{
			upsets[0], upsets[2], upsets[6],
			{"new run duplicate", func(o *world, r *workflowRun, q updateQ) {
				snapshot := o.snapshot(o.zombie(r))
				q.NewWorkflowSnapshot = &snapshot
			}},
			{"in another namespace", func(o *world, _ *workflowRun, q updateQ) { q.NewWorkflowSnapshot.NamespaceID = o.id() }},
		}
	}
	return operation[updateQ]{
		name: "update/" + name,
		request: func(o *world) (*workflowRun, updateQ) {
			r := o.current()
			if mode == persistence.UpdateWorkflowModeBypassCurrent {
				r = o.zombie(r)
			}
			request := o.updateRequest(r, mode)
			if continues {
				snapshot := o.snapshot(o.newRun(r.workflow))
				request.NewWorkflowSnapshot, request.NewWorkflowNewEvents = &snapshot, o.events(true)
			}
			return r, request
		},
		run:    func(s stores, q updateQ) error { return s.executions.UpdateWorkflowExecution(context.Background(), q) },
		upsets: upsets,
	}.cells()
}

func resolveCells(name string, mode persistence.ConflictResolveWorkflowMode, ofAnother, continues bool) []cell {
	upsets := []upset[resolveQ]{
		{"shard wrong", func(_ *world, _ *workflowRun, q resolveQ) { q.RangeID-- }},
		{"shard missing", func(_ *world, _ *workflowRun, q resolveQ) { q.ShardID = -3 }},
		{"version wrong", func(_ *world, _ *workflowRun, q resolveQ) { q.ResetWorkflowSnapshot.DBRecordVersion = 9 }},
		{"next event wrong", func(_ *world, _ *workflowRun, q resolveQ) {
			q.ResetWorkflowSnapshot.DBRecordVersion, q.ResetWorkflowSnapshot.Condition = 0, 99
		}},
		{"workflow missing", func(_ *world, _ *workflowRun, q resolveQ) { q.ResetWorkflowSnapshot.WorkflowID = elsewhere }},
		{"is a zombie", func(o *world, r *workflowRun, q resolveQ) {
			q.ResetWorkflowSnapshot = o.resolveRequest(o.zombie(r), q.Mode).ResetWorkflowSnapshot
		}},
		{"is the current run", func(o *world, _ *workflowRun, q resolveQ) {
			q.ResetWorkflowSnapshot = o.resolveRequest(o.current(), q.Mode).ResetWorkflowSnapshot
		}},
		{"mode unknown", func(_ *world, _ *workflowRun, q resolveQ) { q.Mode = 99 }},
	}
	if ofAnother {
		name += ", of another current run"
		upsets = append(upsets[:3:3], upset[resolveQ]{"its version wrong", func(_ *world, _ *workflowRun, q resolveQ) {
			q.CurrentWorkflowMutation.DBRecordVersion = 9
		}}, upset[resolveQ]{"its run missing", func(o *world, _ *workflowRun, q resolveQ) {
			mutation := o.mutation(o.newRun(elsewhere))
			q.CurrentWorkflowMutation = &mutation
		}})
	}
	if continues {
		name += ", with a new run"
		upsets = append(upsets[:3:3], upset[resolveQ]{"new run duplicate", func(o *world, r *workflowRun, q resolveQ) {
			snapshot := o.snapshot(o.zombie(r))
			q.NewWorkflowSnapshot = &snapshot
		}})
	}
	return operation[resolveQ]{
		name: "resolve/" + name,
		request: func(o *world) (*workflowRun, resolveQ) {
			r := o.current()
			now := r
			if mode == persistence.ConflictResolveWorkflowModeBypassCurrent || ofAnother {
				r = o.zombie(r)
			}
			request := o.resolveRequest(r, mode)
			if ofAnother {
				mutation := o.mutation(now)
				request.CurrentWorkflowMutation, request.CurrentWorkflowEventsNewEvents = &mutation, o.events(false)
			}
			if continues {
				snapshot := o.snapshot(o.newRun(r.workflow))
				request.NewWorkflowSnapshot, request.NewWorkflowEventsNewEvents = &snapshot, o.events(true)
			}
			return r, request
		},
		run: func(s stores, q resolveQ) error {
			return s.executions.ConflictResolveWorkflowExecution(context.Background(), q)
		},
		upsets: upsets,
	}.cells()
}

func setCells() []cell {
	return operation[setQ]{
		name: "set",
		request: func(o *world) (*workflowRun, setQ) {
			r := o.current()
			return r, o.setRequest(r)
		},
		run: func(s stores, q setQ) error { return s.executions.SetWorkflowExecution(context.Background(), q) },
		upsets: []upset[setQ]{
			{"shard wrong", func(_ *world, _ *workflowRun, q setQ) { q.RangeID-- }},
			{"shard missing", func(_ *world, _ *workflowRun, q setQ) { q.ShardID = -3 }},
			{"version wrong", func(_ *world, _ *workflowRun, q setQ) { q.SetWorkflowSnapshot.DBRecordVersion = 9 }},
			{"next event wrong", func(_ *world, _ *workflowRun, q setQ) {
				q.SetWorkflowSnapshot.DBRecordVersion, q.SetWorkflowSnapshot.Condition = 0, 99
			}},
			{"execution missing", func(_ *world, _ *workflowRun, q setQ) { q.SetWorkflowSnapshot.WorkflowID = elsewhere }},
			{"a task twice", func(_ *world, _ *workflowRun, q setQ) { sameTaskTwice(q.SetWorkflowSnapshot.Tasks) }},
		},
	}.cells()
}

func addTasksCells() []cell {
	return operation[addTasksQ]{
		name:    "tasks",
		request: func(o *world) (*workflowRun, addTasksQ) { return nil, o.tasksRequest() },
		run:     func(s stores, q addTasksQ) error { return s.executions.AddHistoryTasks(context.Background(), q) },
		upsets: []upset[addTasksQ]{
			{"shard wrong", func(_ *world, _ *workflowRun, q addTasksQ) { q.RangeID-- }},
			{"shard missing", func(_ *world, _ *workflowRun, q addTasksQ) { q.ShardID = -3 }},
			{"a task twice", func(_ *world, _ *workflowRun, q addTasksQ) { sameTaskTwice(q.Tasks) }},
		},
	}.cells()
}

func shardCells() []cell {
	return operation[updateShardQ]{
		name: "shard",
		request: func(o *world) (*workflowRun, updateShardQ) {
			return nil, &persistence.InternalUpdateShardRequest{ShardID: o.shard, RangeID: o.rangeID, PreviousRangeID: o.rangeID, ShardInfo: blob("shard")}
		},
		run: func(s stores, q updateShardQ) error { return s.shards.UpdateShard(context.Background(), q) },
		upsets: []upset[updateShardQ]{
			{"wrong", func(_ *world, _ *workflowRun, q updateShardQ) { q.PreviousRangeID-- }},
			{"missing", func(_ *world, _ *workflowRun, q updateShardQ) { q.ShardID = -3 }},
		},
	}.cells()
}

func queueCells(kind queueKind) []cell {
	all := operation[updateQueueQ]{
		name: kind.name + "/update",
		request: func(o *world) (*workflowRun, updateQueueQ) {
			return nil, o.updateQueueRequest(o.queue(kind.of), 3)
		},
		run: func(s stores, q updateQueueQ) error {
			_, err := kind.of(s).UpdateTaskQueue(context.Background(), q)
			return err
		},
		upsets: []upset[updateQueueQ]{
			{"wrong", func(_ *world, _ *workflowRun, q updateQueueQ) { q.PrevRangeID-- }},
			{"missing", func(_ *world, _ *workflowRun, q updateQueueQ) { q.TaskQueue = elsewhere }},
		},
	}.cells()
	all = append(all, operation[createTasksQ]{
		name: kind.name + "/create",
		request: func(o *world) (*workflowRun, createTasksQ) {
			return nil, o.createTasksRequest(o.queue(kind.of), 3)
		},
		run: func(s stores, q createTasksQ) error {
			_, err := kind.of(s).CreateTasks(context.Background(), q)
			return err
		},
		upsets: []upset[createTasksQ]{
			{"wrong", func(_ *world, _ *workflowRun, q createTasksQ) { q.RangeID-- }},
			{"missing", func(_ *world, _ *workflowRun, q createTasksQ) { q.TaskQueue = elsewhere }},
			{"a task twice", func(_ *world, _ *workflowRun, q createTasksQ) { q.Tasks[1] = q.Tasks[0] }},
		},
	}.cells()...)
	return append(all, operation[deleteQueueQ]{
		name: kind.name + "/delete",
		request: func(o *world) (*workflowRun, deleteQueueQ) {
			key := &persistence.TaskQueueKey{NamespaceID: o.namespace, TaskQueueName: o.queue(kind.of), TaskQueueType: queueType}
			return nil, &persistence.DeleteTaskQueueRequest{TaskQueue: key, RangeID: 3}
		},
		run: func(s stores, q deleteQueueQ) error { return kind.of(s).DeleteTaskQueue(context.Background(), q) },
		upsets: []upset[deleteQueueQ]{
			{"wrong", func(_ *world, _ *workflowRun, q deleteQueueQ) { q.RangeID-- }},
			{"missing", func(_ *world, _ *workflowRun, q deleteQueueQ) { q.TaskQueue.TaskQueueName = elsewhere }},
		},
	}.cells()...)
}

// cells are the whole table: operation x mode x guard x (wrong, missing, duplicate).
func cells() []cell {
	all := append(append(shardCells(), setCells()...), addTasksCells()...)
	all = append(all, createCells("brand new", persistence.CreateWorkflowModeBrandNew)...)
	all = append(all, createCells("update current", persistence.CreateWorkflowModeUpdateCurrent)...)
	all = append(all, createCells("bypass", persistence.CreateWorkflowModeBypassCurrent)...)
	for _, continues := range []bool{false, true} {
		all = append(all, updateCells("ignore", persistence.UpdateWorkflowModeIgnoreCurrent, continues)...)
		all = append(all, updateCells("update current", persistence.UpdateWorkflowModeUpdateCurrent, continues)...)
		all = append(all, updateCells("bypass", persistence.UpdateWorkflowModeBypassCurrent, continues)...)
		all = append(all, resolveCells("update current", persistence.ConflictResolveWorkflowModeUpdateCurrent, false, continues)...)
		all = append(all, resolveCells("update current", persistence.ConflictResolveWorkflowModeUpdateCurrent, true, continues)...)
		all = append(all, resolveCells("bypass", persistence.ConflictResolveWorkflowModeBypassCurrent, false, continues)...)
	}
	return append(append(all, queueCells(queueKinds[0])...), queueCells(queueKinds[1])...)
}

func typeOf(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%T", err)
}

// The cells that docs name; the others are what Temporal's store answers.
var documented = map[string]string{
	"shard/wrong":                             "*persistence.ShardOwnershipLostError",
	"shard/missing":                           "*serviceerror.Unavailable",
	"set/execution missing":                   "*persistence.ConditionFailedError",
	"update/update current/version wrong":     "*persistence.WorkflowConditionFailedError",
	"update/update current/workflow missing":  "*serviceerror.Unavailable",
	"update/bypass/no run is current":         "",
	"create/bypass/is there as a zombie":      "*persistence.WorkflowConditionFailedError",
	"create/brand new/another run is current": "*persistence.CurrentWorkflowConditionFailedError",
	"queue/update/wrong":                      "*persistence.ConditionFailedError",
}

// A script answers what Temporal's own store answers, field for field, on PostgreSQL with Temporal's own plugin and
// on this one; afterwards the same rows are there; and what succeeds is one round trip on the wire.
func TestEveryCellAnswersAsTemporalsStore(t *testing.T) {
	o := newWorld(t)
	p := stockWorld(t, o)
	answers := map[string]int{}
	for _, c := range cells() {
		t.Run(c.name, func(t *testing.T) {
			o.t, o.runs = t, nil
			run := c.prepare(o)
			var err error
			trips := o.w.during(func() { err = run(o.scripts) })
			answers[typeOf(err)]++
			if want, ok := documented[c.name]; ok && typeOf(err) != want {
				t.Errorf("%s is no %s: %v", typeOf(err), want, err)
			}
			if err == nil && trips != 1 {
				t.Errorf("%d round trips", trips)
			}
			if err != nil { // it has changed nothing, so the other store meets the same
				if stock := run(o.stock); typeOf(stock) != typeOf(err) || stock.Error() != err.Error() {
					t.Errorf("%v\nis not what Temporal's store answers:\n%v", err, stock)
				}
			}
			if p == nil {
				return
			}
			p.t, p.runs = t, nil
			stock := c.prepare(p)(p.stock)
			if typeOf(stock) != typeOf(err) {
				t.Errorf("%T: %v\nis not what postgres12_pgx answers:\n%T: %v", err, err, stock, stock)
			} else if typeOf(err) != "*serviceerror.Unavailable" && !reflect.DeepEqual(err, stock) {
				t.Errorf("%#v\nis not what postgres12_pgx answers:\n%#v", err, stock) // words of the database aside
			}
			if ours, theirs := o.seen(o.scripts), p.seen(p.stock); !reflect.DeepEqual(ours, theirs) {
				t.Errorf("%v\nis there, with postgres12_pgx\n%v", ours, theirs)
			}
		})
	}
	o.t = t
	t.Logf("%v, compared with postgres12_pgx: %v", answers, p != nil)
}
