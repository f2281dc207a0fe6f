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
)

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
