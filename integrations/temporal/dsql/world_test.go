package dsql

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"os"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	enumsspb "go.temporal.io/server/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // postgres12_pgx
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/service/history/tasks"
)

// A world is a shard with workflows in it, the stores with scripts, and Temporal's own stores without any: what
// these answer is what scripts must answer. Its ids are drawn in order, so that what is done to two worlds with
// the same names makes the same rows.
type world struct {
	t         *testing.T
	f         *factory                     // nil on PostgreSQL
	factory   persistence.DataStoreFactory // of its stores
	w         *wire
	shard     int32
	rangeID   int64
	namespace string
	scripts   stores
	stock     stores
	taskID    int64
	drawn     int64
	runs      []*workflowRun // that were named here
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

func storesOf(t *testing.T, f persistence.DataStoreFactory) stores {
	t.Helper()
	return stores{
		made[persistence.ExecutionStore](t)(f.NewExecutionStore()), made[persistence.ShardStore](t)(f.NewShardStore()),
		made[persistence.TaskStore](t)(f.NewTaskStore()), made[persistence.TaskStore](t)(f.NewFairTaskStore()),
	}
}

func blob(text string) *commonpb.DataBlob {
	return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: []byte(text)}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	f, w := openCounted(t)
	o := &world{t: t, f: f, factory: f, w: w, rangeID: 7, shard: rand.Int31(), namespace: fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint32())}
	o.scripts, o.stock = storesOf(t, f), storesOf(t, f.Factory)
	o.makeShard()
	return o
}

// stockWorld has the names of another world, and Temporal's own plugin for PostgreSQL behind its stores; nil if
// there is no PostgreSQL.
func stockWorld(t *testing.T, of *world) *world {
	t.Helper()
	folder := os.Getenv("STOCK_POSTGRES")
	if folder == "" {
		return nil
	}
	cfg := config.SQL{
		PluginName: "postgres12_pgx", DatabaseName: "stock", User: "stock", ConnectAddr: "localhost", ConnectProtocol: "tcp",
		MaxConns: 4, MaxIdleConns: 4, TaskScanPartitions: 1, ConnectAttributes: map[string]string{"host": folder, "port": "5432"},
	}
	f := persistencesql.NewFactory(cfg, resolver.NewNoopResolver(), "test", log.NewTestLogger(), metrics.NoopMetricsHandler, serialization.NewSerializer())
	t.Cleanup(f.Close)
	p := &world{t: t, factory: f, rangeID: of.rangeID, shard: of.shard, namespace: of.namespace, stock: storesOf(t, f)}
	p.makeShard()
	return p
}

func (o *world) makeShard() {
	o.t.Helper()
	_, err := o.stock.shards.GetOrCreateShard(context.Background(), &persistence.InternalGetOrCreateShardRequest{
		ShardID:         o.shard,
		CreateShardInfo: func() (int64, *commonpb.DataBlob, error) { return o.rangeID, blob("shard"), nil },
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *world) id() string {
	o.drawn++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", o.drawn, o.drawn)
}

// A run is one execution of a workflow.
type workflowRun struct {
	workflow, id string
	version      int64 // db_record_version
	next         int64 // next_event_id
	state        enumsspb.WorkflowExecutionState
}

func (o *world) newWorkflow() *workflowRun { return o.newRun("workflow-" + o.id()) }

func (o *world) newRun(workflow string) *workflowRun {
	r := &workflowRun{workflow: workflow, id: o.id(), version: 1, next: 5, state: enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED}
	o.runs = append(o.runs, r)
	return r
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
		BranchInfo: &persistencespb.HistoryBranch{TreeId: o.id(), BranchId: o.id()},
		Node:       persistence.InternalHistoryNode{NodeID: 1, TransactionID: o.taskID, Events: blob("events")},
	}}
}

func (o *world) createRequest(r *workflowRun, mode persistence.CreateWorkflowMode) *persistence.InternalCreateWorkflowExecutionRequest {
	return &persistence.InternalCreateWorkflowExecutionRequest{
		ShardID: o.shard, RangeID: o.rangeID, Mode: mode, ArchetypeID: chasm.WorkflowArchetypeID,
		NewWorkflowSnapshot: o.snapshot(r), NewWorkflowNewEvents: o.events(true),
	}
}

// create makes a run with Temporal's own store.
func (o *world) create(r *workflowRun, mode persistence.CreateWorkflowMode) *workflowRun {
	o.t.Helper()
	if _, err := o.stock.executions.CreateWorkflowExecution(context.Background(), o.createRequest(r, mode)); err != nil {
		o.t.Fatal(err)
	}
	return r
}

// current makes a workflow whose current run is the one it gives.
func (o *world) current() *workflowRun {
	o.t.Helper()
	return o.create(o.newWorkflow(), persistence.CreateWorkflowModeBrandNew)
}

// zombie makes another run of it that is not the current one.
func (o *world) zombie(of *workflowRun) *workflowRun {
	o.t.Helper()
	return o.create(o.newRun(of.workflow), persistence.CreateWorkflowModeBypassCurrent)
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

func (o *world) setRequest(r *workflowRun) *persistence.InternalSetWorkflowExecutionRequest {
	request := &persistence.InternalSetWorkflowExecutionRequest{ShardID: o.shard, RangeID: o.rangeID, SetWorkflowSnapshot: o.snapshot(r)}
	request.SetWorkflowSnapshot.DBRecordVersion = r.version + 1
	return request
}

func (o *world) tasksRequest() *persistence.InternalAddHistoryTasksRequest {
	return &persistence.InternalAddHistoryTasksRequest{
		ShardID: o.shard, RangeID: o.rangeID, ArchetypeID: chasm.WorkflowArchetypeID, Tasks: o.tasks(),
	}
}

const queueType = enumspb.TASK_QUEUE_TYPE_ACTIVITY

// queue makes a task queue at range 3.
func (o *world) queue(of func(stores) persistence.TaskStore) string {
	o.t.Helper()
	name := "queue-" + o.id()
	if err := of(o.stock).CreateTaskQueue(context.Background(), &persistence.InternalCreateTaskQueueRequest{
		NamespaceID: o.namespace, TaskQueue: name, TaskType: queueType, RangeID: 3, TaskQueueInfo: blob("queue"),
	}); err != nil {
		o.t.Fatal(err)
	}
	return name
}

func (o *world) updateQueueRequest(name string, from int64) *persistence.InternalUpdateTaskQueueRequest {
	return &persistence.InternalUpdateTaskQueueRequest{
		NamespaceID: o.namespace, TaskQueue: name, TaskType: queueType, RangeID: from + 1, PrevRangeID: from, TaskQueueInfo: blob("queue"),
	}
}

func (o *world) createTasksRequest(name string, rangeID int64) *persistence.InternalCreateTasksRequest {
	o.taskID += 2
	return &persistence.InternalCreateTasksRequest{
		NamespaceID: o.namespace, TaskQueue: name, TaskType: queueType, RangeID: rangeID, TaskQueueInfo: blob("queue"),
		Tasks: []*persistence.InternalCreateTask{
			{TaskPass: 1, TaskId: o.taskID, Task: blob("task")}, {TaskPass: 1, TaskId: o.taskID + 1, Task: blob("task")},
		},
	}
}

// A kind of task queues.
type queueKind struct {
	name string
	of   func(stores) persistence.TaskStore
	min  int64 // the pass from which its tasks are read
}

var queueKinds = []queueKind{
	{"queue", func(s stores) persistence.TaskStore { return s.queues }, 0},
	{"fair queue", func(s stores) persistence.TaskStore { return s.fair }, 1},
}

func (o *world) tasksOf(kind queueKind, s stores, name string) (int, error) {
	got, err := kind.of(s).GetTasks(context.Background(), &persistence.GetTasksRequest{
		NamespaceID: o.namespace, TaskQueue: name, TaskType: queueType, InclusiveMinPass: kind.min,
		ExclusiveMaxTaskID: math.MaxInt64, PageSize: 100, UseLimit: true,
	})
	if err != nil {
		return 0, err
	}
	return len(got.Tasks), nil
}

// seen is everything that is there of the runs that were named here, and of the shard's transfer tasks.
func (o *world) seen(s stores) []any {
	o.t.Helper()
	ctx := context.Background()
	var all []any
	for _, r := range o.runs {
		state, err := s.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
			ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
		})
		all = append(all, state, err)
		now, err := s.executions.GetCurrentExecution(ctx, &persistence.GetCurrentExecutionRequest{
			ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, ArchetypeID: chasm.WorkflowArchetypeID,
		})
		all = append(all, now, err)
	}
	got, err := s.executions.GetHistoryTasks(ctx, &persistence.GetHistoryTasksRequest{
		ShardID: o.shard, TaskCategory: tasks.CategoryTransfer, BatchSize: 1000,
		InclusiveMinTaskKey: tasks.NewImmediateKey(o.taskID - 30), ExclusiveMaxTaskKey: tasks.NewImmediateKey(o.taskID + 100),
	})
	return append(all, got, err)
}
