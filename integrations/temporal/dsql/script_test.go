package dsql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	enumsspb "go.temporal.io/server/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/service/history/tasks"
)

// A world is a shard with workflows in it, the stores with scripts, and Temporal's own stores without any: what
// these answer is what scripts must answer.
type world struct {
	t         *testing.T
	f         *factory
	w         *wire
	shard     int32
	rangeID   int64
	namespace string
	scripts   stores
	stock     stores
	taskID    int64
}

type stores struct {
	executions persistence.ExecutionStore
	shards     persistence.ShardStore
	queues     persistence.TaskStore
	fair       persistence.TaskStore
}

func made[T any](t *testing.T) func(T, error) T {
	return func(store T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func blob(text string) *commonpb.DataBlob {
	return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: []byte(text)}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	f, w := openCounted(t)
	o := &world{t: t, f: f, w: w, rangeID: 7, namespace: primitives.NewUUID().String(), shard: int32(time.Now().UnixNano() & 0x7fffffff)}
	o.scripts = stores{
		made[persistence.ExecutionStore](t)(f.NewExecutionStore()), made[persistence.ShardStore](t)(f.NewShardStore()),
		made[persistence.TaskStore](t)(f.NewTaskStore()), made[persistence.TaskStore](t)(f.NewFairTaskStore()),
	}
	o.stock = stores{
		made[persistence.ExecutionStore](t)(f.Factory.NewExecutionStore()), made[persistence.ShardStore](t)(f.Factory.NewShardStore()),
		made[persistence.TaskStore](t)(f.Factory.NewTaskStore()), made[persistence.TaskStore](t)(f.Factory.NewFairTaskStore()),
	}
	if _, err := f.db.InsertIntoShards(context.Background(), shard(o.shard, o.rangeID)); err != nil {
		t.Fatal(err)
	}
	return o
}

// A run is one execution of a workflow.
type workflowRun struct {
	workflow, id string
	version      int64 // db_record_version
	next         int64 // next_event_id
	state        enumsspb.WorkflowExecutionState
}

func newRun(workflow string) *workflowRun {
	return &workflowRun{
		workflow: workflow, id: primitives.NewUUID().String(), version: 1, next: 5,
		state: enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED,
	}
}

func (r *workflowRun) executionState() (*persistencespb.WorkflowExecutionState, *commonpb.DataBlob) {
	status := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	if r.state == enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED {
		status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}
	s := &persistencespb.WorkflowExecutionState{RunId: r.id, CreateRequestId: "request-" + r.id, State: r.state, Status: status}
	b, err := serialization.NewSerializer().WorkflowExecutionStateToBlob(s)
	if err != nil {
		panic(err)
	}
	return s, b
}

func (o *world) tasks() map[tasks.Category][]persistence.InternalHistoryTask {
	o.taskID += 3
	at := func(n int64) persistence.InternalHistoryTask {
		return persistence.InternalHistoryTask{Key: tasks.NewKey(time.Unix(1, 0).UTC(), o.taskID+n), Blob: blob("task")}
	}
	return map[tasks.Category][]persistence.InternalHistoryTask{
		tasks.CategoryTransfer: {at(0), at(1)}, tasks.CategoryTimer: {at(2)}, tasks.CategoryVisibility: {at(0)},
	}
}

func (o *world) snapshot(r *workflowRun) persistence.InternalWorkflowSnapshot {
	s, b := r.executionState()
	return persistence.InternalWorkflowSnapshot{
		NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ExecutionInfoBlob: blob("info"),
		ExecutionState: s, ExecutionStateBlob: b, NextEventID: r.next, Condition: r.next, DBRecordVersion: r.version,
		LastWriteVersion: 11, Tasks: o.tasks(),
		ActivityInfos: map[int64]*commonpb.DataBlob{1: blob("activity")}, SignalRequestedIDs: map[string]struct{}{"signal": {}},
	}
}

func (o *world) mutation(r *workflowRun) persistence.InternalWorkflowMutation {
	s, b := r.executionState()
	return persistence.InternalWorkflowMutation{
		NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ExecutionInfoBlob: blob("info"),
		ExecutionState: s, ExecutionStateBlob: b, NextEventID: r.next + 1, Condition: r.next, DBRecordVersion: r.version + 1,
		LastWriteVersion: 11, Tasks: o.tasks(), NewBufferedEvents: blob("event"),
		UpsertTimerInfos: map[string]*commonpb.DataBlob{"timer": blob("timer")}, DeleteActivityInfos: map[int64]struct{}{1: {}},
		UpsertChildExecutionInfos: map[int64]*commonpb.DataBlob{1: blob("child")},
	}
}

func (o *world) events(newBranch bool) []*persistence.InternalAppendHistoryNodesRequest {
	o.taskID++
	return []*persistence.InternalAppendHistoryNodesRequest{{
		ShardID: o.shard, IsNewBranch: newBranch, TreeInfo: blob("tree"),
		BranchInfo: &persistencespb.HistoryBranch{TreeId: primitives.NewUUID().String(), BranchId: primitives.NewUUID().String()},
		Node:       persistence.InternalHistoryNode{NodeID: 1, TransactionID: o.taskID, Events: blob("events")},
	}}
}

func (o *world) createRequest(r *workflowRun, mode persistence.CreateWorkflowMode) *persistence.InternalCreateWorkflowExecutionRequest {
	return &persistence.InternalCreateWorkflowExecutionRequest{
		ShardID: o.shard, RangeID: o.rangeID, Mode: mode, ArchetypeID: chasm.WorkflowArchetypeID,
		NewWorkflowSnapshot: o.snapshot(r), NewWorkflowNewEvents: o.events(true),
	}
}

// current makes a workflow whose current run is the one it gives.
func (o *world) current() *workflowRun {
	o.t.Helper()
	r := newRun("workflow-" + primitives.NewUUID().String())
	if _, err := o.stock.executions.CreateWorkflowExecution(context.Background(), o.createRequest(r, persistence.CreateWorkflowModeBrandNew)); err != nil {
		o.t.Fatal(err)
	}
	return r
}

// zombie makes another run of it that is not the current one.
func (o *world) zombie(of *workflowRun) *workflowRun {
	o.t.Helper()
	r := newRun(of.workflow)
	if _, err := o.stock.executions.CreateWorkflowExecution(context.Background(), o.createRequest(r, persistence.CreateWorkflowModeBypassCurrent)); err != nil {
		o.t.Fatal(err)
	}
	return r
}

func (o *world) updateRequest(r *workflowRun, mode persistence.UpdateWorkflowMode) *persistence.InternalUpdateWorkflowExecutionRequest {
	return &persistence.InternalUpdateWorkflowExecutionRequest{
		ShardID: o.shard, RangeID: o.rangeID, Mode: mode, ArchetypeID: chasm.WorkflowArchetypeID,
		UpdateWorkflowMutation: o.mutation(r), UpdateWorkflowNewEvents: o.events(false),
	}
}

func (o *world) resolveRequest(r *workflowRun, mode persistence.ConflictResolveWorkflowMode) *persistence.InternalConflictResolveWorkflowExecutionRequest {
	request := &persistence.InternalConflictResolveWorkflowExecutionRequest{
		ShardID: o.shard, RangeID: o.rangeID, Mode: mode, ArchetypeID: chasm.WorkflowArchetypeID,
		ResetWorkflowSnapshot: o.snapshot(r), ResetWorkflowEventsNewEvents: o.events(false),
	}
	request.ResetWorkflowSnapshot.DBRecordVersion = r.version + 1
	return request
}

// A cell is an operation in one mode that meets one thing. It is prepared anew for each store that runs it.
type cell struct {
	name string
	want string // the type of Temporal's error; "" for none
	run  func(*world) func(stores) error
}

const (
	errLost      = "*persistence.ShardOwnershipLostError"
	errAway      = "*serviceerror.Unavailable"
	errExecution = "*persistence.WorkflowConditionFailedError"
	errCondition = "*persistence.ConditionFailedError"
	errCurrent   = "*persistence.CurrentWorkflowConditionFailedError"
)

func createCell(name, want string, mode persistence.CreateWorkflowMode, change func(*world, *persistence.InternalCreateWorkflowExecutionRequest)) cell {
	return cell{"create/" + name, want, func(o *world) func(stores) error {
		request := o.createRequest(newRun("workflow-"+primitives.NewUUID().String()), mode)
		if mode == persistence.CreateWorkflowModeUpdateCurrent {
			before := o.current()
			request = o.createRequest(newRun(before.workflow), mode)
			request.PreviousRunID, request.PreviousLastWriteVersion = before.id, 11
		}
		if change != nil {
			change(o, request)
		}
		return func(s stores) error {
			_, err := s.executions.CreateWorkflowExecution(context.Background(), request)
			return err
		}
	}}
}

func updateCell(name, want string, mode persistence.UpdateWorkflowMode, change func(*world, *workflowRun, *persistence.InternalUpdateWorkflowExecutionRequest)) cell {
	return cell{"update/" + name, want, func(o *world) func(stores) error {
		r := o.current()
		if mode == persistence.UpdateWorkflowModeBypassCurrent {
			r = o.zombie(r)
		}
		request := o.updateRequest(r, mode)
		if change != nil {
			change(o, r, request)
		}
		return func(s stores) error { return s.executions.UpdateWorkflowExecution(context.Background(), request) }
	}}
}

func resolveCell(name, want string, mode persistence.ConflictResolveWorkflowMode, change func(*world, *workflowRun, *persistence.InternalConflictResolveWorkflowExecutionRequest)) cell {
	return cell{"resolve/" + name, want, func(o *world) func(stores) error {
		r := o.current()
		if mode == persistence.ConflictResolveWorkflowModeBypassCurrent {
			r = o.zombie(r)
		}
		request := o.resolveRequest(r, mode)
		if change != nil {
			change(o, r, request)
		}
		return func(s stores) error {
			return s.executions.ConflictResolveWorkflowExecution(context.Background(), request)
		}
	}}
}

func setCell(name, want string, change func(*persistence.InternalSetWorkflowExecutionRequest)) cell {
	return cell{"set/" + name, want, func(o *world) func(stores) error {
		r := o.current()
		request := &persistence.InternalSetWorkflowExecutionRequest{ShardID: o.shard, RangeID: o.rangeID, SetWorkflowSnapshot: o.snapshot(r)}
		request.SetWorkflowSnapshot.DBRecordVersion = r.version + 1
		if change != nil {
			change(request)
		}
		return func(s stores) error { return s.executions.SetWorkflowExecution(context.Background(), request) }
	}}
}

func addTasksCell(name, want string, change func(*persistence.InternalAddHistoryTasksRequest)) cell {
	return cell{"tasks/" + name, want, func(o *world) func(stores) error {
		request := &persistence.InternalAddHistoryTasksRequest{ShardID: o.shard, RangeID: o.rangeID, Tasks: o.tasks()}
		if change != nil {
			change(request)
		}
		return func(s stores) error { return s.executions.AddHistoryTasks(context.Background(), request) }
	}}
}

func shardCell(name, want string, change func(*persistence.InternalUpdateShardRequest)) cell {
	return cell{"shard/" + name, want, func(o *world) func(stores) error {
		request := &persistence.InternalUpdateShardRequest{ShardID: o.shard, RangeID: o.rangeID, PreviousRangeID: o.rangeID, ShardInfo: blob("shard")}
		if change != nil {
			change(request)
		}
		return func(s stores) error { return s.shards.UpdateShard(context.Background(), request) }
	}}
}

// queueCells are those of one kind of task queue.
func queueCells(kind string, of func(stores) persistence.TaskStore) []cell {
	prepare := func(o *world) string {
		o.t.Helper()
		name := "queue-" + primitives.NewUUID().String()
		if err := of(o.stock).CreateTaskQueue(context.Background(), &persistence.InternalCreateTaskQueueRequest{
			NamespaceID: o.namespace, TaskQueue: name, TaskType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, RangeID: 3, TaskQueueInfo: blob("queue"),
		}); err != nil {
			o.t.Fatal(err)
		}
		return name
	}
	update := func(name, want string, change func(*persistence.InternalUpdateTaskQueueRequest)) cell {
		return cell{kind + "/update/" + name, want, func(o *world) func(stores) error {
			request := &persistence.InternalUpdateTaskQueueRequest{
				NamespaceID: o.namespace, TaskQueue: prepare(o), TaskType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, RangeID: 4, PrevRangeID: 3, TaskQueueInfo: blob("queue"),
			}
			if change != nil {
				change(request)
			}
			return func(s stores) error {
				_, err := of(s).UpdateTaskQueue(context.Background(), request)
				return err
			}
		}}
	}
	create := func(name, want string, change func(*persistence.InternalCreateTasksRequest)) cell {
		return cell{kind + "/create/" + name, want, func(o *world) func(stores) error {
			request := &persistence.InternalCreateTasksRequest{
				NamespaceID: o.namespace, TaskQueue: prepare(o), TaskType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, RangeID: 3, TaskQueueInfo: blob("queue"),
				Tasks: []*persistence.InternalCreateTask{{TaskPass: 1, TaskId: 1, Task: blob("task")}, {TaskPass: 1, TaskId: 2, Task: blob("task")}},
			}
			if change != nil {
				change(request)
			}
			return func(s stores) error {
				_, err := of(s).CreateTasks(context.Background(), request)
				return err
			}
		}}
	}
	return []cell{
		update("right", "", nil),
		update("wrong", errCondition, func(r *persistence.InternalUpdateTaskQueueRequest) { r.PrevRangeID = 2 }),
		update("missing", errCondition, func(r *persistence.InternalUpdateTaskQueueRequest) { r.TaskQueue = "none" }),
		create("right", "", nil),
		create("wrong", errCondition, func(r *persistence.InternalCreateTasksRequest) { r.RangeID = 2 }),
		create("missing", errCondition, func(r *persistence.InternalCreateTasksRequest) { r.TaskQueue = "none" }),
		create("duplicate", errAway, func(r *persistence.InternalCreateTasksRequest) { r.Tasks[1] = r.Tasks[0] }),
	}
}

func cells() []cell {
	type (
		createRequest  = persistence.InternalCreateWorkflowExecutionRequest
		updateRequest  = persistence.InternalUpdateWorkflowExecutionRequest
		resolveRequest = persistence.InternalConflictResolveWorkflowExecutionRequest
	)
	all := []cell{
		shardCell("right", "", nil),
		shardCell("wrong", errLost, func(r *persistence.InternalUpdateShardRequest) { r.PreviousRangeID = 6 }),
		shardCell("missing", errAway, func(r *persistence.InternalUpdateShardRequest) { r.ShardID = -3 }),
		setCell("right", "", nil),
		setCell("shard wrong", errLost, func(r *persistence.InternalSetWorkflowExecutionRequest) { r.RangeID = 6 }),
		setCell("shard missing", errAway, func(r *persistence.InternalSetWorkflowExecutionRequest) { r.ShardID = -3 }),
		setCell("version wrong", errExecution, func(r *persistence.InternalSetWorkflowExecutionRequest) { r.SetWorkflowSnapshot.DBRecordVersion = 9 }),
		setCell("execution missing", errCondition, func(r *persistence.InternalSetWorkflowExecutionRequest) { r.SetWorkflowSnapshot.WorkflowID = "none" }),
		addTasksCell("right", "", nil),
		addTasksCell("shard wrong", errLost, func(r *persistence.InternalAddHistoryTasksRequest) { r.RangeID = 6 }),
		addTasksCell("shard missing", errAway, func(r *persistence.InternalAddHistoryTasksRequest) { r.ShardID = -3 }),
		addTasksCell("duplicate", errAway, func(r *persistence.InternalAddHistoryTasksRequest) {
			transfer := r.Tasks[tasks.CategoryTransfer]
			transfer[1] = transfer[0]
		}),
	}
	for name, mode := range map[string]persistence.CreateWorkflowMode{
		"brand new": persistence.CreateWorkflowModeBrandNew, "update current": persistence.CreateWorkflowModeUpdateCurrent,
		"bypass": persistence.CreateWorkflowModeBypassCurrent,
	} {
		all = append(all,
			createCell(name+"/right", "", mode, nil),
			createCell(name+"/shard wrong", errLost, mode, func(_ *world, r *createRequest) { r.RangeID = 6 }),
			createCell(name+"/shard missing", errAway, mode, func(_ *world, r *createRequest) { r.ShardID = -3 }),
		)
	}
	duplicate := func(o *world, r *createRequest) { // the run is there already, and is not the current one
		o.zombie(&workflowRun{workflow: r.NewWorkflowSnapshot.WorkflowID})
		again := newRun(r.NewWorkflowSnapshot.WorkflowID)
		again.id = r.NewWorkflowSnapshot.RunID
		request := o.createRequest(again, persistence.CreateWorkflowModeBypassCurrent)
		if _, err := o.stock.executions.CreateWorkflowExecution(context.Background(), request); err != nil {
			o.t.Fatal(err)
		}
	}
	all = append(all,
		createCell("brand new/current is there", errCurrent, persistence.CreateWorkflowModeBrandNew, func(o *world, r *createRequest) {
			r.NewWorkflowSnapshot.WorkflowID = o.current().workflow
		}),
		createCell("brand new/duplicate", errExecution, persistence.CreateWorkflowModeBrandNew, duplicate),
		createCell("update current/duplicate", errExecution, persistence.CreateWorkflowModeUpdateCurrent, duplicate),
		createCell("bypass/duplicate", errExecution, persistence.CreateWorkflowModeBypassCurrent, duplicate),
		createCell("update current/wrong run", errCurrent, persistence.CreateWorkflowModeUpdateCurrent, func(_ *world, r *createRequest) {
			r.PreviousRunID = primitives.NewUUID().String()
		}),
		createCell("update current/wrong version", errCurrent, persistence.CreateWorkflowModeUpdateCurrent, func(_ *world, r *createRequest) {
			r.PreviousLastWriteVersion = 12
		}),
		createCell("update current/not ended", errCurrent, persistence.CreateWorkflowModeUpdateCurrent, func(o *world, r *createRequest) {
			running := newRun("workflow-" + primitives.NewUUID().String())
			running.state = enumsspb.WORKFLOW_EXECUTION_STATE_RUNNING
			if _, err := o.stock.executions.CreateWorkflowExecution(context.Background(), o.createRequest(running, persistence.CreateWorkflowModeBrandNew)); err != nil {
				o.t.Fatal(err)
			}
			r.NewWorkflowSnapshot.WorkflowID, r.PreviousRunID = running.workflow, running.id
		}),
		createCell("update current/missing", errCurrent, persistence.CreateWorkflowModeUpdateCurrent, func(_ *world, r *createRequest) {
			r.NewWorkflowSnapshot.WorkflowID = "none"
		}),
		createCell("bypass/is the current one", errCurrent, persistence.CreateWorkflowModeBypassCurrent, func(o *world, r *createRequest) {
			is := o.current()
			r.NewWorkflowSnapshot = o.snapshot(is)
		}),
	)
	for name, mode := range map[string]persistence.UpdateWorkflowMode{
		"ignore": persistence.UpdateWorkflowModeIgnoreCurrent, "update current": persistence.UpdateWorkflowModeUpdateCurrent,
		"bypass": persistence.UpdateWorkflowModeBypassCurrent,
	} {
		next := func(o *world, r *workflowRun, request *updateRequest) {
			snapshot := o.snapshot(newRun(r.workflow))
			request.NewWorkflowSnapshot, request.NewWorkflowNewEvents = &snapshot, o.events(true)
		}
		all = append(all,
			updateCell(name+"/right", "", mode, nil),
			updateCell(name+"/right, with a new run", "", mode, next),
			updateCell(name+"/by next event", "", mode, func(_ *world, _ *workflowRun, r *updateRequest) { r.UpdateWorkflowMutation.DBRecordVersion = 0 }),
			updateCell(name+"/shard wrong", errLost, mode, func(_ *world, _ *workflowRun, r *updateRequest) { r.RangeID = 6 }),
			updateCell(name+"/shard missing", errAway, mode, func(_ *world, _ *workflowRun, r *updateRequest) { r.ShardID = -3 }),
			updateCell(name+"/version wrong", errExecution, mode, func(_ *world, _ *workflowRun, r *updateRequest) { r.UpdateWorkflowMutation.DBRecordVersion = 9 }),
			updateCell(name+"/next event wrong", errExecution, mode, func(_ *world, _ *workflowRun, r *updateRequest) {
				r.UpdateWorkflowMutation.DBRecordVersion, r.UpdateWorkflowMutation.Condition = 0, 99
			}),
			updateCell(name+"/new run duplicate", errExecution, mode, func(o *world, r *workflowRun, request *updateRequest) {
				next(o, r, request)
				snapshot := o.snapshot(o.zombie(r))
				request.NewWorkflowSnapshot = &snapshot
			}),
		)
	}
	all = append(all,
		updateCell("ignore/execution missing", errCondition, persistence.UpdateWorkflowModeIgnoreCurrent, func(_ *world, _ *workflowRun, r *updateRequest) {
			r.UpdateWorkflowMutation.WorkflowID = "none"
		}),
		updateCell("update current/current wrong", errCurrent, persistence.UpdateWorkflowModeUpdateCurrent, func(o *world, r *workflowRun, request *updateRequest) {
			request.UpdateWorkflowMutation = o.mutation(o.zombie(r))
		}),
		updateCell("update current/current missing", errAway, persistence.UpdateWorkflowModeUpdateCurrent, func(_ *world, _ *workflowRun, r *updateRequest) {
			r.UpdateWorkflowMutation.WorkflowID = "none"
		}),
		updateCell("bypass/is the current one", errCurrent, persistence.UpdateWorkflowModeBypassCurrent, func(o *world, _ *workflowRun, r *updateRequest) {
			r.UpdateWorkflowMutation = o.mutation(o.current())
		}),
		updateCell("bypass/no current, execution missing", errCondition, persistence.UpdateWorkflowModeBypassCurrent, func(_ *world, _ *workflowRun, r *updateRequest) {
			r.UpdateWorkflowMutation.WorkflowID = "none"
		}),
		updateCell("bypass/no current", "", persistence.UpdateWorkflowModeBypassCurrent, func(o *world, _ *workflowRun, r *updateRequest) {
			r.UpdateWorkflowMutation = o.mutation(o.zombie(newRun("workflow-" + primitives.NewUUID().String())))
		}),
	)
	for name, mode := range map[string]persistence.ConflictResolveWorkflowMode{
		"update current": persistence.ConflictResolveWorkflowModeUpdateCurrent, "bypass": persistence.ConflictResolveWorkflowModeBypassCurrent,
	} {
		all = append(all,
			resolveCell(name+"/right", "", mode, nil),
			resolveCell(name+"/right, with a new run", "", mode, func(o *world, r *workflowRun, request *resolveRequest) {
				snapshot := o.snapshot(newRun(r.workflow))
				request.NewWorkflowSnapshot, request.NewWorkflowEventsNewEvents = &snapshot, o.events(true)
			}),
			resolveCell(name+"/shard wrong", errLost, mode, func(_ *world, _ *workflowRun, r *resolveRequest) { r.RangeID = 6 }),
			resolveCell(name+"/shard missing", errAway, mode, func(_ *world, _ *workflowRun, r *resolveRequest) { r.ShardID = -3 }),
			resolveCell(name+"/version wrong", errExecution, mode, func(_ *world, _ *workflowRun, r *resolveRequest) { r.ResetWorkflowSnapshot.DBRecordVersion = 9 }),
		)
	}
	all = append(all,
		resolveCell("update current/of another current run", "", persistence.ConflictResolveWorkflowModeUpdateCurrent, func(o *world, r *workflowRun, request *resolveRequest) {
			mutation := o.mutation(r)
			*request = *o.resolveRequest(o.zombie(r), request.Mode)
			request.CurrentWorkflowMutation = &mutation
		}),
		resolveCell("update current/current wrong", errCurrent, persistence.ConflictResolveWorkflowModeUpdateCurrent, func(o *world, r *workflowRun, request *resolveRequest) {
			*request = *o.resolveRequest(o.zombie(r), request.Mode)
		}),
		resolveCell("update current/current missing", errAway, persistence.ConflictResolveWorkflowModeUpdateCurrent, func(_ *world, _ *workflowRun, r *resolveRequest) {
			r.ResetWorkflowSnapshot.WorkflowID = "none"
		}),
		resolveCell("bypass/is the current one", errCurrent, persistence.ConflictResolveWorkflowModeBypassCurrent, func(o *world, _ *workflowRun, r *resolveRequest) {
			*r = *o.resolveRequest(o.current(), r.Mode)
		}),
		resolveCell("bypass/execution missing", errCondition, persistence.ConflictResolveWorkflowModeBypassCurrent, func(_ *world, _ *workflowRun, r *resolveRequest) {
			r.ResetWorkflowSnapshot.WorkflowID = "none"
		}),
	)
	all = append(all, queueCells("queue", func(s stores) persistence.TaskStore { return s.queues })...)
	return append(all, queueCells("fair queue", func(s stores) persistence.TaskStore { return s.fair })...)
}

func typeOf(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%T", err)
}

// Operation x mode x guard x (wrong, missing, duplicate): a script answers what Temporal's own store answers,
// word for word; and what succeeds is one round trip on the wire.
func TestEveryCellAnswersAsTemporalsStore(t *testing.T) {
	o := newWorld(t)
	for _, c := range cells() {
		t.Run(c.name, func(t *testing.T) {
			o.t = t
			run := c.run(o)
			stock := error(nil)
			if c.want != "" { // it changes nothing, so both stores can meet the same
				stock = run(o.stock)
			}
			var err error
			trips := o.w.during(func() { err = run(o.scripts) })
			if typeOf(err) != c.want {
				t.Fatalf("%s is no %s: %v", typeOf(err), c.want, err)
			}
			if c.want == "" && trips != 1 {
				t.Errorf("%d round trips", trips)
			}
			if !reflect.DeepEqual(err, stock) && err.Error() != stock.Error() {
				t.Errorf("%v\nis not what Temporal's store answers:\n%v", err, stock)
			}
		})
	}
	o.t = t
}

// What an operation writes is what Temporal's store writes: the state that is read afterwards is the same.
func TestScriptsWriteWhatTemporalsStoreWrites(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	read := func(s stores, r *workflowRun) *persistence.InternalGetWorkflowExecutionResponse {
		got, err := s.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
			ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var states []*persistence.InternalGetWorkflowExecutionResponse
	for _, s := range []stores{o.stock, o.scripts} {
		r := newRun("workflow-" + primitives.NewUUID().String())
		r.id = "5ca1ab1e-0000-4000-8000-000000000001" // of its own workflow
		if _, err := s.executions.CreateWorkflowExecution(ctx, o.createRequest(r, persistence.CreateWorkflowModeBrandNew)); err != nil {
			t.Fatal(err)
		}
		if err := s.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)); err != nil {
			t.Fatal(err)
		}
		state := read(s, r)
		if !reflect.DeepEqual(state, read(o.stock, r)) {
			t.Errorf("read as a script: %+v", state.State)
		}
		if len(state.State.TimerInfos) != 1 || len(state.State.ActivityInfos) != 0 || len(state.State.BufferedEvents) != 1 || state.DBRecordVersion != 2 {
			t.Errorf("%+v", state.State)
		}
		states = append(states, state)
	}
	if !reflect.DeepEqual(states[0], states[1]) {
		t.Errorf("%+v\nis not\n%+v", states[1].State, states[0].State)
	}
	_, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
		ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: "none", RunID: primitives.NewUUID().String(),
	})
	var notFound *serviceerror.NotFound
	if !errors.As(err, &notFound) {
		t.Errorf("no execution: %v", err)
	}
}

// The rest of the operations that are one round trip when nothing fails and nothing exceeds a limit.
func TestOneRoundTrip(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	r := o.current()
	queue := &persistence.InternalCreateTaskQueueRequest{
		NamespaceID: o.namespace, TaskQueue: "q", TaskType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, RangeID: 1, TaskQueueInfo: blob("queue"),
	}
	if err := o.stock.queues.CreateTaskQueue(ctx, queue); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(int) error{
		"GetWorkflowExecution": func(int) error {
			_, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
				ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
			})
			return err
		},
		"AppendHistoryNodes":             func(int) error { return o.scripts.executions.AppendHistoryNodes(ctx, o.events(false)[0]) },
		"AppendHistoryNodes, new branch": func(int) error { return o.scripts.executions.AppendHistoryNodes(ctx, o.events(true)[0]) },
		"DeleteWorkflowExecution": func(int) error {
			return o.scripts.executions.DeleteWorkflowExecution(ctx, &persistence.DeleteWorkflowExecutionRequest{
				ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: "none", RunID: r.id, ArchetypeID: chasm.WorkflowArchetypeID,
			})
		},
		"GetOrCreateShard": func(int) error {
			_, err := o.scripts.shards.GetOrCreateShard(ctx, &persistence.InternalGetOrCreateShardRequest{ShardID: o.shard})
			return err
		},
		"GetTasks": func(int) error {
			_, err := o.scripts.queues.GetTasks(ctx, &persistence.GetTasksRequest{
				NamespaceID: o.namespace, TaskQueue: "q", TaskType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, ExclusiveMaxTaskID: 10, PageSize: 5,
			})
			return err
		},
		"CompleteTasksLessThan": func(int) error {
			_, err := o.scripts.queues.CompleteTasksLessThan(ctx, &persistence.CompleteTasksLessThanRequest{
				NamespaceID: o.namespace, TaskQueueName: "q", TaskType: enumspb.TASK_QUEUE_TYPE_WORKFLOW, ExclusiveMaxTaskID: 10, Limit: 5,
			})
			return err
		},
	} {
		for turn := range 2 { // prepared, and not yet
			var err error
			if trips := o.w.during(func() { err = run(turn) }); err != nil || trips != 1 {
				t.Errorf("%s: %d round trips: %v", name, trips, err)
			}
		}
	}
	// The measure itself: Temporal's own store waits for each answer that it looks at.
	if trips := o.w.during(func() {
		if err := o.stock.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)); err != nil {
			t.Error(err)
		}
	}); trips < 4 {
		t.Errorf("the wire counted %d round trips of an operation that has more", trips)
	}
}

// What is too large for one transaction goes as in Temporal's own store: history first.
func TestLargeHistoryGoesFirst(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	r := newRun("workflow-" + primitives.NewUUID().String())
	request := o.createRequest(r, persistence.CreateWorkflowModeBrandNew)
	for range 5 {
		more := o.events(true)
		more[0].Node.Events = &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: make([]byte, 1<<20-1024)}
		request.NewWorkflowNewEvents = append(request.NewWorkflowNewEvents, more...)
	}
	var err error
	create := func() { _, err = o.scripts.executions.CreateWorkflowExecution(ctx, request) }
	if trips := o.w.during(create); err != nil || trips < 1 {
		t.Fatalf("%d round trips: %v", trips, err)
	}
	again := newRun("workflow-" + primitives.NewUUID().String())
	next := o.createRequest(again, persistence.CreateWorkflowModeBrandNew)
	for range 9 {
		more := o.events(true)
		more[0].Node.Events = &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: make([]byte, 1<<20-1024)}
		next.NewWorkflowNewEvents = append(next.NewWorkflowNewEvents, more...)
	}
	request = next
	if trips := o.w.during(create); err != nil || trips < 9 {
		t.Fatalf("%d round trips: %v", trips, err)
	}
}

// counted is the sum of a counter's series of one operation, as the process's page shows it.
func (o *world) counted(t *testing.T, name, operation string) int {
	t.Helper()
	cluster := &Cluster{db: o.f.db}
	url, err := cluster.Watch("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.pages.stop()
	response, err := http.Get(strings.TrimSuffix(url, "/") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, `operation="`+operation+`"`) {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return int(sum)
}

// Conflicts are run again in C, under the operation's name; buffered events get new ids in a re-run.
func TestConflictsAreRunAgainByName(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	r := o.current()
	before := o.counted(t, "dsql_tx_retries_total", "UpdateWorkflowExecution")
	fault(t, "conflict-commit=3x")
	t.Cleanup(func() { fault(t, "clear") })
	if err := o.scripts.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)); err != nil {
		t.Fatal(err)
	}
	if n := o.counted(t, "dsql_tx_retries_total", "UpdateWorkflowExecution") - before; n != 3 {
		t.Errorf("%d retries of UpdateWorkflowExecution", n)
	}
	got, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
		ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
	})
	if err != nil || len(got.State.BufferedEvents) != 1 {
		t.Errorf("%d buffered events: %v", len(got.State.BufferedEvents), err)
	}
}

// A conflict whose retries are used up was certainly not applied, which Temporal must know: after any other
// error it takes the shard anew.
func TestConflictsUsedUpAreResourceExhausted(t *testing.T) {
	t.Setenv("DSQL_RETRY_MAX_RETRIES", "1")
	o, ctx := newWorld(t), context.Background()
	r := o.current()
	fault(t, "conflict-commit=100%")
	t.Cleanup(func() { fault(t, "clear") })
	for name, s := range map[string]func() error{
		"script": func() error {
			return o.scripts.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent))
		},
		"statement by statement": func() error {
			return rerunErr(ctx, o.f.db.e, "test", o.stock.executions.UpdateWorkflowExecution, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent))
		},
	} {
		var exhausted *serviceerror.ResourceExhausted
		if err := s(); !errors.As(err, &exhausted) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
}

// A lost answer to COMMIT is Temporal's timeout, and the operation is not run again, neither as a script nor
// statement by statement.
func TestUnknownCommitOfAScriptIsATimeout(t *testing.T) {
	for what, version := range map[string]int64{"close-commit=1x": 1, "close-applied=1x": 2} {
		o, ctx := newWorld(t), context.Background()
		r := o.current()
		before := o.counted(t, "dsql_tx_retries_total", "UpdateWorkflowExecution")
		fault(t, what)
		t.Cleanup(func() { fault(t, "clear") })
		var timeout *persistence.TimeoutError
		err := o.scripts.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent))
		if !errors.As(err, &timeout) {
			t.Errorf("%s: %T: %v", what, err, err)
		}
		if n := o.counted(t, "dsql_tx_retries_total", "UpdateWorkflowExecution") - before; n != 0 {
			t.Errorf("%s: %d retries", what, n)
		}
		// The endpoint has just closed a connection: what is asked here is what stands in the row, not how soon
		// a busy machine has another connection.
		var got *persistence.InternalGetWorkflowExecutionResponse
		for range 100 {
			got, err = o.stock.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
				ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
			})
			if err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("%s: the row can't be read: %T: %v", what, err, err)
		} else if got.DBRecordVersion != version {
			t.Errorf("%s: version %d", what, got.DBRecordVersion)
		}
	}
}
