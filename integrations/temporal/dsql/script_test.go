package dsql

import (
	"context"
	"errors"
	"math"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
)

// What operations cost on the wire. TestEveryCellAnswersAsTemporalsStore has Create, Update, ConflictResolve, Set,
// AddHistoryTasks, UpdateShard, CreateTasks and UpdateTaskQueue, in all modes.

// A measured operation is prepared, and then run once.
type measured struct {
	name    string
	prepare func() func() error
}

// The operations that have no cell because they expect nothing, or only read.
func (o *world) unguarded() []measured {
	ctx := context.Background()
	all := []measured{
		{"GetWorkflowExecution", func() func() error {
			r := o.current()
			return func() error {
				got, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
					ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
				})
				if err == nil && len(got.State.ActivityInfos) != 1 {
					o.t.Errorf("%+v", got.State)
				}
				return err
			}
		}},
		{"GetCurrentExecution", func() func() error {
			r := o.current()
			return func() error {
				_, err := o.scripts.executions.GetCurrentExecution(ctx, &persistence.GetCurrentExecutionRequest{
					ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, ArchetypeID: chasm.WorkflowArchetypeID,
				})
				return err
			}
		}},
		{"AppendHistoryNodes", func() func() error {
			events := o.events(false)[0]
			return func() error { return o.scripts.executions.AppendHistoryNodes(ctx, events) }
		}},
		{"AppendHistoryNodes, new branch", func() func() error {
			events := o.events(true)[0]
			return func() error { return o.scripts.executions.AppendHistoryNodes(ctx, events) }
		}},
		{"DeleteWorkflowExecution", func() func() error {
			r := o.current()
			return func() error {
				return o.scripts.executions.DeleteWorkflowExecution(ctx, &persistence.DeleteWorkflowExecutionRequest{
					ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ArchetypeID: chasm.WorkflowArchetypeID,
				})
			}
		}},
		{"DeleteCurrentWorkflowExecution", func() func() error {
			r := o.current()
			return func() error {
				return o.scripts.executions.DeleteCurrentWorkflowExecution(ctx, &persistence.DeleteCurrentWorkflowExecutionRequest{
					ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ArchetypeID: chasm.WorkflowArchetypeID,
				})
			}
		}},
		{"GetOrCreateShard", func() func() error {
			return func() error {
				_, err := o.scripts.shards.GetOrCreateShard(ctx, &persistence.InternalGetOrCreateShardRequest{ShardID: o.shard})
				return err
			}
		}},
	}
	for _, kind := range queueKinds {
		filled := func() string {
			name := o.queue(kind.of)
			if _, err := kind.of(o.stock).CreateTasks(ctx, o.createTasksRequest(name, 3)); err != nil {
				o.t.Fatal(err)
			}
			return name
		}
		complete := func(rangeID int64, removed int) func() func() error {
			return func() func() error {
				name := filled()
				request := &persistence.CompleteTasksLessThanRequest{
					NamespaceID: o.namespace, TaskQueueName: name, TaskType: queueType, ExclusiveMaxTaskID: math.MaxInt64, Limit: removed,
					ExclusiveMaxPass: kind.min, ConditionRangeID: rangeID,
				}
				return func() error {
					n, err := kind.of(o.scripts).CompleteTasksLessThan(ctx, request)
					if err == nil && n != removed {
						o.t.Errorf("%d tasks were removed, not %d", n, removed)
					}
					return err
				}
			}
		}
		all = append(all,
			measured{"GetTasks, " + kind.name, func() func() error {
				name := filled()
				return func() error {
					n, err := o.tasksOf(kind, o.scripts, name)
					if err == nil && n != 2 {
						o.t.Errorf("%d tasks", n)
					}
					return err
				}
			}},
			measured{"CompleteTasksLessThan, " + kind.name, complete(0, 2)},
			measured{"CompleteTasksLessThan of one, " + kind.name, complete(0, 1)},
		)
		if kind.min > 0 {
			all = append(all, measured{"CompleteTasksLessThan by the owner, " + kind.name, complete(3, 2)})
		}
	}
	return all
}

// The rest of the operations that are one round trip when nothing fails and nothing exceeds a limit.
func TestOneRoundTrip(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	for _, m := range o.unguarded() {
		for range 2 { // prepared, and not yet
			run := m.prepare()
			var err error
			if trips := o.w.during(func() { err = run() }); err != nil || trips != 1 {
				t.Errorf("%s: %d round trips: %v", m.name, trips, err)
			}
		}
	}
	// The measure itself: Temporal's own store waits for each answer that it looks at.
	if trips := o.w.during(func() {
		if err := o.stock.executions.UpdateWorkflowExecution(ctx, o.updateRequest(o.current(), persistence.UpdateWorkflowModeUpdateCurrent)); err != nil {
			t.Error(err)
		}
	}); trips < 4 {
		t.Errorf("the wire counted %d round trips of an operation that has more", trips)
	}
}

func TestReadOfNoExecution(t *testing.T) {
	o := newWorld(t)
	_, err := o.scripts.executions.GetWorkflowExecution(context.Background(), &persistence.GetWorkflowExecutionRequest{
		ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: elsewhere, RunID: o.id(),
	})
	var notFound *serviceerror.NotFound
	if !errors.As(err, &notFound) {
		t.Errorf("no execution: %v", err)
	}
}

// What is too large for one transaction goes as in Temporal's own store: history first.
func TestLargeHistoryGoesFirst(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	r := o.newWorkflow()
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
	again := o.newWorkflow()
	next := o.createRequest(again, persistence.CreateWorkflowModeBrandNew)
	for range 9 {
		more := o.events(true)
		more[0].Node.Events = &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: make([]byte, 1<<20-1024)}
		next.NewWorkflowNewEvents = append(next.NewWorkflowNewEvents, more...)
	}
	request = next
	if trips := o.w.during(create); err != nil || trips < 3 { // nodes twice, then the rest
		t.Fatalf("%d round trips: %v", trips, err)
	}
}

// Reading a value that does not fit a column costs one round trip more, however many of them are read; reading any
// other costs none.
func TestLargeValuesCostOneRoundTripMore(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	large := func() *commonpb.DataBlob {
		return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: make([]byte, 1_500_000)}
	}
	for _, count := range []int{0, 1, 3} {
		r := o.newWorkflow()
		request := o.createRequest(r, persistence.CreateWorkflowModeBrandNew)
		node := request.NewWorkflowNewEvents[0]
		token, err := serialization.NewSerializer().HistoryBranchToBlob(node.BranchInfo)
		if err != nil {
			t.Fatal(err)
		}
		request.NewWorkflowSnapshot.ActivityInfos = map[int64]*commonpb.DataBlob{1: blob("a"), 2: blob("b"), 3: blob("c")}
		for i := range count {
			request.NewWorkflowSnapshot.ActivityInfos[int64(i+1)] = large()
		}
		if count > 0 {
			node.Node.Events = large()
		}
		if _, err := o.scripts.executions.CreateWorkflowExecution(ctx, request); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func() error{
			"GetWorkflowExecution": func() error {
				got, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
					ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
				})
				if err == nil && count == 3 && len(got.State.ActivityInfos[3].Data) != 1_500_000 {
					t.Errorf("%d bytes", len(got.State.ActivityInfos[3].Data))
				}
				return err
			},
			"ReadHistoryBranch": func() error {
				got, err := o.scripts.executions.ReadHistoryBranch(ctx, &persistence.InternalReadHistoryBranchRequest{
					ShardID: o.shard, BranchID: node.BranchInfo.BranchId, MinNodeID: 1, MaxNodeID: 100, PageSize: 10, BranchToken: token.Data,
				})
				if err == nil && count > 0 && (len(got.Nodes) != 1 || len(got.Nodes[0].Events.Data) != 1_500_000) {
					t.Errorf("%d nodes", len(got.Nodes))
				}
				return err
			},
		} {
			var err error
			want := int64(1 + min(count, 1))
			if trips := o.w.during(func() { err = read() }); err != nil || trips != want {
				t.Errorf("%s with %d large values: %d round trips, not %d: %v", name, count, trips, want, err)
			}
		}
	}
}
