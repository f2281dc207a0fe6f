package dsql

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// counted is the sum of a counter's series of one operation, as the process's page shows it; of those with a label's
// value, if one is given.
func (o *world) counted(t *testing.T, name, operation string, value ...string) int {
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
		wanted := strings.HasPrefix(line, name+"{") && strings.Contains(line, `operation="`+operation+`"`)
		for _, v := range value {
			wanted = wanted && strings.Contains(line, `="`+v+`"`)
		}
		if wanted {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return int(sum)
}

// opened gives a world whose rows another pool shows, and the operations in it that carry a range id.
func opened(t *testing.T) (*world, []owned) {
	t.Helper()
	o := newWorld(t)
	owner := storesOf(t, newTestFactory(t, SQLConfig(map[string]any{"maxConns": 2})))
	t.Cleanup(func() { fault(t, "clear") })
	return o, o.owned(owner)
}

// readable waits until both pools answer: a fault may have cost them their connections, and how soon there are others
// is the machine's business.
func (o *world) readable(rows func() string) string {
	o.t.Helper()
	fault(o.t, "clear")
	var there string
	eventually(o.t, "both stores answer", func() bool {
		_, err := o.stock.shards.GetOrCreateShard(context.Background(), &persistence.InternalGetOrCreateShardRequest{ShardID: o.shard})
		there = rows()
		return err == nil && !strings.Contains(there, "dsql:")
	})
	return there
}

// Conflicts at 5 % of commits: operations of every name meet some, are run again in C under that name, and succeed.
func TestConflictsAreRunAgainByName(t *testing.T) {
	o, all := opened(t)
	o.stock = o.scripts // what is prepared meets conflicts, too
	fault(t, "conflict-commit=5%", "seed=17")
	waiting := map[string]int{}
	for _, op := range all {
		waiting[op.operation] = o.counted(t, "dsql_tx_retries_total", op.operation)
	}
	for turn := 0; len(waiting) > 0; turn++ {
		if turn == 5000 {
			t.Fatalf("no conflict in %d operations: %v", turn, waiting)
		}
		op := all[turn%len(all)]
		run, _, rows := op.prepare()
		before := rows()
		if err := run(); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if rows() == before {
			t.Fatalf("%s: %s, before and after", op.name, before)
		}
		if seen, ok := waiting[op.operation]; ok && o.counted(t, "dsql_tx_retries_total", op.operation) > seen {
			delete(waiting, op.operation)
		}
	}
}

// A conflict whose retries are used up was certainly not applied, which Temporal must know: after any other error it
// takes the shard anew.
func TestConflictsUsedUpAreResourceExhausted(t *testing.T) {
	t.Setenv("DSQL_RETRY_MAX_RETRIES", "1")
	o, all := opened(t)
	for _, op := range all {
		run, _, rows := op.prepare()
		before := rows()
		fault(t, "conflict-commit=100%")
		var exhausted *serviceerror.ResourceExhausted
		if err := run(); !errors.As(err, &exhausted) {
			t.Errorf("%s: %T: %v", op.name, err, err)
		}
		fault(t, "clear")
		if now := rows(); now != before {
			t.Errorf("%s: %s, and now %s", op.name, before, now)
		}
	}
	fault(t, "conflict-commit=100%")
	var exhausted *serviceerror.ResourceExhausted
	err := rerunErr(context.Background(), o.f.db.e, "test", func(ctx context.Context, id int32) error {
		return bump(ctx, o.f.db, id, func() {})
	}, o.shard)
	if !errors.As(err, &exhausted) {
		t.Errorf("statement by statement: %T: %v", err, err)
	}
}

// The operations whose outcome is found out although the answer to COMMIT is lost.
var settled = map[string]bool{
	"CreateWorkflowExecution": true, "UpdateWorkflowExecution": true, "ConflictResolveWorkflowExecution": true, "SetWorkflowExecution": true,
}

// Of a task queue, whose callers know no other timeout, the error is the one that callers get.
func isTimeout(operation string, err error) bool {
	var ofShard *persistence.TimeoutError
	var outside *serviceerror.DeadlineExceeded
	if strings.HasSuffix(operation, "TaskQueue") || strings.Contains(operation, "CreateTasks") || operation == "CompleteTasksLessThan" {
		return errors.As(err, &outside)
	}
	return errors.As(err, &ofShard)
}

// A lost answer to COMMIT: operations of executions are applied once, whether the lost one was applied or not, and
// succeed. Every other one is a timeout, Temporal's own for a shard, and is not run again: it is there once if it was
// applied, and not at all otherwise.
func TestUnknownCommitOfAScript(t *testing.T) {
	for what, applied := range map[string]bool{"close-commit=1x": false, "close-applied=1x": true} {
		o, all := opened(t)
		for _, op := range all {
			run, _, rows := op.prepare()
			before, retries := rows(), o.counted(t, "dsql_tx_retries_total", op.operation)
			outcome := "unsettled"
			if settled[op.operation] {
				outcome = map[bool]string{true: "applied", false: "not_applied"}[applied]
			}
			unknown := o.counted(t, "dsql_commit_unknown_total", op.operation)
			known := o.counted(t, "dsql_commit_unknown_total", op.operation, outcome)
			fault(t, what)
			if err := run(); settled[op.operation] && err != nil || !settled[op.operation] && !isTimeout(op.operation, err) {
				t.Errorf("%s, %s: %T: %v", what, op.name, err, err)
			}
			if n := o.counted(t, "dsql_tx_retries_total", op.operation) - retries; n != 0 {
				t.Errorf("%s, %s: %d retries", what, op.name, n)
			}
			unknown = o.counted(t, "dsql_commit_unknown_total", op.operation) - unknown
			if known = o.counted(t, "dsql_commit_unknown_total", op.operation, outcome) - known; unknown != 1 || known != 1 {
				t.Errorf("%s, %s: %d of %d unknown commits are %s", what, op.name, known, unknown, outcome)
			}
			if now := o.readable(rows); (now != before) != (applied || settled[op.operation]) {
				t.Errorf("%s, %s: %s, and now %s", what, op.name, before, now)
			}
		}
	}
}

// If no answer comes however often it is asked, or another owner has the shard, or the execution stands elsewhere, the
// outcome stays unknown.
func TestUnknownCommitStaysUnknown(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	t.Cleanup(func() { fault(t, "clear") })
	var timeout *persistence.TimeoutError
	request := o.updateRequest(o.current(), persistence.UpdateWorkflowModeUpdateCurrent)
	fault(t, "close-commit=100%")
	if err := o.scripts.executions.UpdateWorkflowExecution(ctx, request); !errors.As(err, &timeout) {
		t.Errorf("%T: %v", err, err)
	}
	fault(t, "clear")
	o.readable(func() string { return "" })

	unknown := &Error{Op: "test", Message: "no answer", rc: rcCommitUnknown}
	update := func(r *workflowRun) func() {
		return func() {
			if err := o.scripts.executions.UpdateWorkflowExecution(ctx, o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)); err != nil {
				t.Fatal(err)
			}
			r.version++
			r.next++
		}
	}
	r := o.current()
	for _, c := range []struct {
		name    string
		between []func() // after the plan was made
		known   bool
	}{
		{"it was not applied", nil, true},
		{"it was applied", []func(){update(r)}, true},
		{"the execution has moved on", []func(){update(r), update(r)}, false},
		{"another owner has the shard", []func(){update(r), func() {
			if err := o.stock.shards.UpdateShard(ctx, &persistence.InternalUpdateShardRequest{
				ShardID: o.shard, RangeID: o.rangeID + 1, PreviousRangeID: o.rangeID, ShardInfo: blob("shard"),
			}); err != nil {
				t.Fatal(err)
			}
		}}, false},
	} {
		request := o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)
		p := foreseeUpdate(request)
		if err := o.stock.executions.UpdateWorkflowExecution(withPlan(ctx, p), request); err != nil {
			t.Fatal(err)
		}
		for _, change := range c.between {
			change()
		}
		if got := p.settle(ctx, o.f.db.e, "UpdateWorkflowExecution", p.steps, unknown); (got == nil) != c.known {
			t.Errorf("%s: %v", c.name, got)
		}
		if len(c.between) == 0 {
			r.version++
			r.next++
		}
	}
}

// A cluster that has stopped answering by then leaves the outcome unknown, also for a caller who has all the time in the
// world: what holds a shard must not wait for that.
func TestSettlingEndsWithoutAnswers(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	request := o.updateRequest(o.current(), persistence.UpdateWorkflowModeUpdateCurrent)
	p := foreseeUpdate(request)
	if err := o.stock.executions.UpdateWorkflowExecution(withPlan(ctx, p), request); err != nil {
		t.Fatal(err)
	}
	stall(t)
	unknown := &Error{Op: "test", Message: "no answer", rc: rcCommitUnknown}
	got := promptly(t, "finding out about a commit", func() error {
		return p.settle(ctx, o.f.db.e, "UpdateWorkflowExecution", p.steps, unknown)
	})
	if got != error(unknown) {
		t.Errorf("%v", got)
	}
}

// A cluster that lets nobody in: nothing was sent, so nothing was applied, whether the operation gave up or its
// caller's time was up.
func TestNoConnectionIsResourceExhausted(t *testing.T) {
	t.Setenv("DSQL_RESERVOIR_EMPTY_WAIT", "300ms")
	o, all := opened(t)
	for _, op := range all {
		run, _, rows := op.prepare()
		before := rows()
		fault(t, "refuse=100%", "drop=100%")
		eventually(t, "the pool has no connection", func() bool { return o.f.db.e.connections() == 0 })
		var exhausted *serviceerror.ResourceExhausted
		if err := run(); !errors.As(err, &exhausted) {
			t.Errorf("%s: %T: %v", op.name, err, err)
		}
		if now := o.readable(rows); now != before {
			t.Errorf("%s: %s, and now %s", op.name, before, now)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	soon, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	fault(t, "refuse=100%", "drop=100%")
	eventually(t, "the pool has no connection", func() bool { return o.f.db.e.connections() == 0 })
	for _, ctx := range []context.Context{ended, soon} {
		var exhausted *serviceerror.ResourceExhausted
		if err := o.scripts.executions.AddHistoryTasks(ctx, o.tasksRequest()); !errors.As(err, &exhausted) {
			t.Errorf("%T: %v", err, err)
		}
	}
}

// Statement by statement: a connection that is lost before COMMIT is sent has applied nothing.
func TestLostBeforeCommitIsResourceExhausted(t *testing.T) {
	d := open(t, 1)
	filter := sqlplugin.ShardsFilter{ShardID: newShard(t, d)}
	err := rerunErr(context.Background(), d.e, "test", func(ctx context.Context, _ struct{}) error {
		tx, err := d.BeginTx(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.WriteLockShards(ctx, filter); err != nil {
			return err
		}
		fault(t, "drop=100%")
		if _, err = tx.WriteLockShards(ctx, filter); err == nil {
			t.Error("the connection is not lost")
			return nil
		}
		return errors.New(err.Error())
	}, struct{}{})
	var exhausted *serviceerror.ResourceExhausted
	if !errors.As(err, &exhausted) {
		t.Errorf("%T: %v", err, err)
	}
}
