package dsql

import (
	"context"
	"errors"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// Two owners of one shard. One writes with every operation that carries a range id; the other takes the shard
// over at a random moment in between. Whatever the first one's scripts commit must be there by the time the
// second one has the shard: nothing may appear afterwards. STALE_ROUNDS says how often (200).
func TestStaleOwnerNeverCommits(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	owner := newTestFactory(t, SQLConfig(map[string]any{"maxConns": 4}))
	shards := made[persistence.ShardStore](t)(owner.NewShardStore())
	rounds := 200
	if n, err := strconv.Atoi(os.Getenv("STALE_ROUNDS")); err == nil {
		rounds = n
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	takeOver := func() {
		t.Helper()
		err := shards.UpdateShard(ctx, &persistence.InternalUpdateShardRequest{
			ShardID: o.shard, RangeID: o.rangeID + 1, PreviousRangeID: o.rangeID, ShardInfo: blob("shard"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	written := func(from int64) int { // tasks with this id and above, which are those of the round
		t.Helper()
		rows, err := owner.db.RangeSelectFromTransferTasks(ctx, sqlplugin.TransferTasksRangeFilter{
			ShardID: o.shard, InclusiveMinTaskID: from, ExclusiveMaxTaskID: 1 << 60, PageSize: 1 << 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	ops := []func() func() error{
		func() func() error {
			request := o.createRequest(newRun("workflow-"+primitives.NewUUID().String()), persistence.CreateWorkflowModeBrandNew)
			return func() error {
				_, err := o.scripts.executions.CreateWorkflowExecution(ctx, request)
				return err
			}
		},
		func() func() error {
			request := o.updateRequest(o.current(), persistence.UpdateWorkflowModeUpdateCurrent)
			return func() error { return o.scripts.executions.UpdateWorkflowExecution(ctx, request) }
		},
		func() func() error {
			request := o.updateRequest(o.current(), persistence.UpdateWorkflowModeIgnoreCurrent)
			return func() error { return o.scripts.executions.UpdateWorkflowExecution(ctx, request) }
		},
		func() func() error {
			request := o.resolveRequest(o.current(), persistence.ConflictResolveWorkflowModeUpdateCurrent)
			return func() error { return o.scripts.executions.ConflictResolveWorkflowExecution(ctx, request) }
		},
		func() func() error {
			r := o.current()
			request := &persistence.InternalSetWorkflowExecutionRequest{ShardID: o.shard, RangeID: o.rangeID, SetWorkflowSnapshot: o.snapshot(r)}
			request.SetWorkflowSnapshot.DBRecordVersion = r.version + 1
			return func() error { return o.scripts.executions.SetWorkflowExecution(ctx, request) }
		},
		func() func() error {
			request := &persistence.InternalAddHistoryTasksRequest{
				ShardID: o.shard, RangeID: o.rangeID, ArchetypeID: chasm.WorkflowArchetypeID, Tasks: o.tasks(),
			}
			return func() error { return o.scripts.executions.AddHistoryTasks(ctx, request) }
		},
	}
	passed, refused := 0, 0
	for round := range rounds {
		from := o.taskID
		run := ops[round%len(ops)]()
		ended := make(chan error, 1)
		first, second := time.Duration(random.Intn(1500)), time.Duration(random.Intn(3000))
		go func() {
			time.Sleep(first * time.Microsecond)
			ended <- run()
		}()
		time.Sleep(second * time.Microsecond)
		takeOver()
		there := written(from)
		err := <-ended
		var lost *persistence.ShardOwnershipLostError
		switch {
		case err == nil:
			passed++
		case errors.As(err, &lost):
			refused++
		default:
			t.Fatalf("round %d: %v", round, err)
		}
		if now := written(from); now != there {
			t.Fatalf("round %d: the stale owner's %d rows appeared after the shard had another owner", round, now-there)
		}
		if err := run(); !errors.As(err, &lost) {
			t.Fatalf("round %d: once more, with the old range: %v", round, err)
		}
		o.rangeID++
	}
	t.Logf("%d rounds: %d committed before the shard was taken over, %d refused", rounds, passed, refused)
	if passed == 0 || refused == 0 {
		t.Errorf("%d passed, %d were refused: the two never met", passed, refused)
	}
}
