// temporal-refused has Temporal make transactions that no database of this kind takes, one for each caller: a workflow
// task, an API call, and tasks of history that find thousands of timers. Each must end, with words.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	queue     = "refused"
	namespace = "default"
	rows      = 3000 // that a transaction takes
)

// Timers starts as many timers in each of its first workflow tasks, which all fire at the same moment, and waits for
// the signal "end".
func Timers(ctx workflow.Context, portions []int, at time.Time) error {
	for _, count := range portions {
		for range count {
			workflow.NewTimer(ctx, at.Sub(workflow.Now(ctx)))
		}
		_ = workflow.Sleep(ctx, 10*time.Millisecond)
	}
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
	return nil
}

type tester struct {
	client.Client
}

func (t tester) start(ctx context.Context, id string, portions []int, at time.Time) (client.WorkflowRun, error) {
	return t.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue, WorkflowTaskTimeout: time.Minute}, Timers, portions, at)
}

// workflowTask makes more rows in one task than a transaction takes: the workflow is terminated, and the reason says why.
func (t tester) workflowTask(ctx context.Context) error {
	run, err := t.start(ctx, "refused-task", []int{rows + 1}, time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	err = run.Get(ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "terminated") {
		return fmt.Errorf("the workflow is not terminated: %w", err)
	}
	events := t.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	last, err := events.Next()
	if err != nil {
		return err
	}
	if why := last.GetWorkflowExecutionTerminatedEventAttributes(); !strings.Contains(why.GetReason(), "Transaction size exceeds limit") ||
		!strings.Contains(fmt.Sprint(why.GetDetails()), "a transaction would change") {
		return fmt.Errorf("the reason is %q: %v", why.GetReason(), why.GetDetails())
	}
	return nil
}

func (t tester) status(ctx context.Context, id string) (enumspb.WorkflowExecutionStatus, error) {
	got, err := t.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0, err
	}
	return got.WorkflowExecutionInfo.Status, nil
}

const held = "refused-timers"

// apiCall resets a run that holds more than a transaction takes: that is refused, and the run goes on.
func (t tester) apiCall(ctx context.Context, at time.Time) error {
	run, err := t.start(ctx, held, []int{1700, 1700}, at)
	if err != nil {
		return err
	}
	var ended int64 // the workflow task behind those that start timers
	for ended == 0 {
		completed, events := 0, t.GetWorkflowHistory(ctx, held, run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				completed++
				if completed == 3 {
					ended = event.EventId
				}
			}
		}
	}
	_, err = t.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: held, RunId: run.GetRunID()},
		WorkflowTaskFinishEventId: ended, RequestId: "reset",
	})
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); !refused {
		return fmt.Errorf("the reset is no InvalidArgument: %w", err)
	}
	status, err := t.status(ctx, held)
	if err == nil && status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		err = fmt.Errorf("after the reset that was refused the run is %v", status)
	}
	return err
}

// ended terminates and deletes what is left, which works whatever is in it.
func (t tester) ended(ctx context.Context) error {
	if err := t.TerminateWorkflow(ctx, held, "", "enough"); err != nil {
		return fmt.Errorf("terminate: %w", err)
	}
	_, err := t.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: held},
	})
	for err == nil {
		_, err = t.DescribeWorkflowExecution(ctx, held, "")
		time.Sleep(100 * time.Millisecond)
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

func run(address, step string, at time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	c, err := client.Dial(client.Options{
		HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{DeadlockDetectionTimeout: time.Minute})
	w.RegisterWorkflow(Timers)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	t := tester{c}
	switch step {
	case "task":
		return t.workflowTask(ctx)
	case "call":
		return t.apiCall(ctx, at)
	case "end":
		return t.ended(ctx)
	}
	return fmt.Errorf("there is no step %q", step)
}

func main() {
	address := flag.String("address", "127.0.0.1:7233", "frontend")
	in := flag.Duration("in", time.Minute, "when the timers of the step call fire")
	flag.Parse()
	for _, step := range flag.Args() {
		began := time.Now()
		if err := run(*address, step, began.Add(*in)); err != nil {
			fmt.Fprintf(os.Stderr, "temporal-refused: %s: %.500s\n", step, err)
			os.Exit(1)
		}
		fmt.Printf("%-6s %5.1f s\n", step, time.Since(began).Seconds())
	}
}
