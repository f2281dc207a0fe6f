// temporal-large runs workflows with what Temporal allows and databases seldom see: payloads of up to 2 MB wherever
// one can be, thousands of things in one workflow task, thousands of signals, and what people do to such workflows
// afterwards. One line for each case: its name, "ok" or what went wrong, and how long it took.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

const (
	queue     = "large"
	namespace = "default"
	most      = 1_900_000 // bytes of a payload: Temporal takes 2 MB with all that is around it
)

type tester struct {
	client.Client
	prefix string
	many   int
	at     int // of the case
}

// run starts a workflow and waits for its end.
func (t *tester) run(ctx context.Context, options client.StartWorkflowOptions, result any, workflow any, args ...any) error {
	started, err := t.start(ctx, options, workflow, args...)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return started.Get(ctx, result)
}

func (t *tester) start(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	t.at++
	options.ID, options.TaskQueue = fmt.Sprintf("%s-%d", t.prefix, t.at), queue
	options.WorkflowTaskTimeout = time.Minute
	return t.ExecuteWorkflow(ctx, options, workflow, args...)
}

func (t *tester) simple(workflow any, args ...any) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.run(ctx, client.StartWorkflowOptions{}, nil, workflow, args...)
	}
}

// swapped starts a workflow that hears one signal, does something to it in between, and lets it end.
func (t *tester) swapped(ctx context.Context, swap func(id string) ([]byte, error)) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Hear, 1, most, time.Duration(0))
	if err != nil {
		return err
	}
	bytes, err := swap(run.GetID())
	if err == nil {
		err = sameBlob(bytes, most)
	}
	if err == nil {
		err = t.SignalWorkflow(ctx, run.GetID(), "", "hear", blob(most))
	}
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

func (t *tester) query(ctx context.Context) error {
	return t.swapped(ctx, func(id string) (bytes []byte, err error) {
		value, err := t.QueryWorkflow(ctx, id, "", "swap", blob(most))
		if err == nil {
			err = value.Get(&bytes)
		}
		return bytes, err
	})
}

func (t *tester) update(ctx context.Context) error {
	return t.swapped(ctx, func(id string) (bytes []byte, err error) {
		handle, err := t.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: "swap", Args: []any{blob(most)}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, &bytes)
		}
		return bytes, err
	})
}

func (t *tester) memo(ctx context.Context) error {
	return t.run(ctx, client.StartWorkflowOptions{Memo: map[string]any{"blob": blob(most)}}, nil, Take, blob(9), 9, 9)
}

// buffered sends signals while a workflow task is under way.
func (t *tester) buffered(ctx context.Context, count, size int) (client.WorkflowRun, error) {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Hear, count, size, 4*time.Second)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Second)
	for range count {
		if err := t.SignalWorkflow(ctx, run.GetID(), "", "hear", blob(size)); err != nil {
			return nil, err
		}
	}
	return run, nil
}

func (t *tester) bufferedEnds(ctx context.Context) error {
	run, err := t.buffered(ctx, 6, 300_000)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

// gone terminates a workflow if it must, deletes it, and waits until the server knows nothing of it.
func (t *tester) gone(ctx context.Context, run client.WorkflowRun, terminate bool) error {
	if terminate {
		if err := t.TerminateWorkflow(ctx, run.GetID(), "", "enough"); err != nil {
			return fmt.Errorf("terminate: %w", err)
		}
	}
	_, err := t.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	for err == nil && ctx.Err() == nil {
		_, err = t.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		time.Sleep(100 * time.Millisecond)
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil
	}
	return fmt.Errorf("delete: %w", errors.Join(err, ctx.Err()))
}

func (t *tester) bufferedGone(ctx context.Context) error {
	run, err := t.buffered(ctx, 6, 300_000)
	if err != nil {
		return err
	}
	return t.gone(ctx, run, true)
}

func (t *tester) manyOf(kind string) func(context.Context) error {
	return func(ctx context.Context) error {
		target, err := t.start(ctx, client.StartWorkflowOptions{}, Stubborn)
		if err != nil {
			return err
		}
		err = t.run(ctx, client.StartWorkflowOptions{}, nil, Many, kind, t.many, target.GetID())
		return errors.Join(err, t.SignalWorkflow(ctx, target.GetID(), "", "end", nil))
	}
}

// pending leaves many of a kind open, and ends the workflow from outside.
func (t *tester) pendingGone(ctx context.Context) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Idle)
	for i := 0; err == nil && i < t.many; i++ {
		err = t.SignalWorkflow(ctx, run.GetID(), "", "more", i)
	}
	if err != nil {
		return err
	}
	return t.gone(ctx, run, true)
}

func (t *tester) grown(ctx context.Context) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Grow, 20, most)
	if err == nil {
		err = run.Get(ctx, nil)
	}
	if err != nil {
		return err
	}
	history := t.GetWorkflowHistory(ctx, run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		if _, err := history.Next(); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return t.gone(ctx, run, false)
}

type testCase struct {
	name string
	run  func(context.Context) error
}

func (t *tester) cases() []testCase {
	return []testCase{
		{"input-90k", t.simple(Take, blob(90_000), 90_000, 9)},
		{"input", t.simple(Take, blob(most), most, 9)},
		{"result", t.simple(Take, blob(9), 9, most)},
		{"activity-input", t.simple(Each, 1, most, 9)},
		{"activity-result", t.simple(Each, 1, 9, most)},
		{"activities-12-of-90k", t.simple(Each, 12, 90_000, 9)},
		{"activity-heartbeat", t.simple(Heartbeat, most)},
		{"signal-and-query", t.query},
		{"signal-and-update", t.update},
		{"memo", t.memo},
		{"memo-upserted", t.simple(Remember, most)},
		{"side-effect", t.simple(Aside, most)},
		{"buffered-signals", t.bufferedEnds},
		{"buffered-signals-terminate-delete", t.bufferedGone},
		{"history-40m-delete", t.grown},
		{"many-activities", t.manyOf("activities")},
		{"many-timers", t.manyOf("timers")},
		{"many-children", t.manyOf("children")},
		{"many-signals", t.manyOf("signals")},
		{"many-cancels", t.manyOf("cancels")},
		{"many-signals-terminate-delete", t.pendingGone},
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:7233", "frontend")
	only := flag.String("cases", ".", "regular expression of the names of cases")
	prefix := flag.String("prefix", "large", "of workflow ids")
	many := flag.Int("many", 2000, "things in the cases with many")
	limit := flag.Duration("limit", 2*time.Minute, "time for each case")
	flag.Parse()
	if err := run(*address, *prefix, regexp.MustCompile(*only), *many, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-large:", err)
		os.Exit(1)
	}
}

func run(address, prefix string, only *regexp.Regexp, many int, limit time.Duration) error {
	c, err := client.Dial(client.Options{
		HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{DeadlockDetectionTimeout: time.Minute})
	for _, workflow := range []any{Take, Each, Heartbeat, Hear, Aside, Remember, Idle, Many, Leaf, Stubborn, Grow} {
		w.RegisterWorkflow(workflow)
	}
	for _, activity := range []any{Swap, Beat, Nothing} {
		w.RegisterActivity(activity)
	}
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	t, failed := &tester{Client: c, prefix: prefix, many: many}, 0
	for _, one := range t.cases() {
		if !only.MatchString(one.name) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		began := time.Now()
		said := "ok"
		if err := one.run(ctx); err != nil {
			failed++
			said = fmt.Sprintf("%.300s", err)
			// What hangs must not disturb the cases behind it.
			_ = c.TerminateWorkflow(context.Background(), fmt.Sprintf("%s-%d", t.prefix, t.at), "", "given up")
		}
		cancel()
		fmt.Printf("%-36s %5.1f s  %s\n", one.name, time.Since(began).Seconds(), said)
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}
