package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/api/adminservice/v1"
	taskqueuespb "go.temporal.io/server/api/taskqueue/v1"
	"go.temporal.io/server/common/dynamicconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const nobody = "nobody" // a task queue without a worker

// away is a task queue whose worker comes back.
func (t *tester) away() string { return t.prefix + "-away" }

func isGone(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone
}

// terminate ends a workflow that may have ended already: an attempt whose answer was lost counts.
func (t *tester) terminate(ctx context.Context, id, run string) error {
	err := again(ctx, func() error { return t.TerminateWorkflow(ctx, id, run, "enough") })
	if err != nil && !isGone(err) {
		return fmt.Errorf("terminate: %w", err)
	}
	return nil
}

// remove deletes a run.
func (t *tester) remove(ctx context.Context, id, run string) error {
	err := again(ctx, func() error {
		_, err := t.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: t.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		})
		return err
	})
	if err != nil && !isGone(err) {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// gone deletes a run and waits until the server knows nothing of it.
func (t *tester) gone(ctx context.Context, id, run string) error {
	err := t.remove(ctx, id, run)
	for err == nil {
		err = again(ctx, func() error {
			_, err := t.DescribeWorkflowExecution(ctx, id, run)
			return err
		})
		time.Sleep(100 * time.Millisecond)
	}
	if isGone(err) {
		return nil
	}
	return fmt.Errorf("delete: %w", err)
}

func (t *tester) bufferedGone(ctx context.Context) error {
	run, err := t.buffer(ctx, 6, block{Size: 300_000})
	if err == nil {
		err = t.terminate(ctx, run.GetID(), "")
	}
	if err != nil {
		return err
	}
	return t.gone(ctx, run.GetID(), run.GetRunID())
}

// completed waits for the first workflow task and gives the id of the event that ended it.
func (t *tester) completed(ctx context.Context, run client.WorkflowRun) (int64, error) {
	history := t.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return 0, err
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return event.GetEventId(), nil
		}
	}
	return 0, errors.New("no workflow task was completed")
}

// reset goes back to an event, and gives the new run's id.
func (t *tester) reset(ctx context.Context, run client.WorkflowRun, event int64) (string, error) {
	request := &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: t.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason: "once more", WorkflowTaskFinishEventId: event, RequestId: t.prefix + run.GetID() + "-reset",
		ResetReapplyType: enumspb.RESET_REAPPLY_TYPE_ALL_ELIGIBLE,
	}
	var reset *workflowservice.ResetWorkflowExecutionResponse
	err := again(ctx, func() (err error) {
		reset, err = t.ResetWorkflowExecution(ctx, request)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reset: %w", err)
	}
	return reset.GetRunId(), nil
}

// pendingGone leaves many of a kind open, and looks at, resets, terminates and deletes the workflow.
func (t *tester) pendingGone(kind string) func(context.Context) error {
	return func(ctx context.Context) error {
		run, err := t.start(ctx, client.StartWorkflowOptions{}, Many, kind, t.many, "")
		if err != nil {
			return err
		}
		event, err := t.completed(ctx, run)
		if err != nil {
			return err
		}
		state, err := t.DescribeWorkflowExecution(ctx, run.GetID(), "")
		if err != nil {
			return fmt.Errorf("describe: %w", err)
		}
		if kind == "pending" && len(state.GetPendingActivities()) != t.many {
			return fmt.Errorf("%d activities are pending, not %d", len(state.GetPendingActivities()), t.many)
		}
		next, err := t.reset(ctx, run, event)
		if err == nil {
			err = t.terminate(ctx, run.GetID(), next)
		}
		if err == nil {
			err = t.gone(ctx, run.GetID(), run.GetRunID())
		}
		if err == nil {
			err = t.gone(ctx, run.GetID(), next)
		}
		return err
	}
}

// send sends the signals, some at once.
func (t *tester) send(ctx context.Context, id string, count int) error {
	var senders sync.WaitGroup
	var next atomic.Int64
	failures := make([]error, 20)
	for i := range failures {
		senders.Go(func() {
			for failures[i] == nil && next.Add(1) <= int64(count) {
				failures[i] = t.tell(ctx, id, "more", i)
			}
		})
	}
	senders.Wait()
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("%d signals were sent: %w", next.Load(), err)
	}
	return nil
}

const mostSignals = 10_000 // history.maximumSignalsPerExecution

// signalsGone sends signals to a workflow whose worker is away, and ends it.
func (t *tester) signalsGone(ctx context.Context) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{TaskQueue: nobody}, Idle)
	if err == nil {
		err = t.send(ctx, run.GetID(), t.signals)
	}
	if err != nil {
		return err
	}
	if t.signals == mostSignals {
		err := t.tell(ctx, run.GetID(), "more", 0)
		if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); !refused || err.Error() != beyondSignals {
			return fmt.Errorf("one signal more: %w", err)
		}
	}
	if err := t.terminate(ctx, run.GetID(), ""); err != nil {
		return err
	}
	return t.gone(ctx, run.GetID(), run.GetRunID())
}

// signalsReset sends signals to a workflow whose worker is away after the first task, resets it to that task, and has
// the new run, which gets all of them again, continue as new. Then all is deleted.
func (t *tester) signalsReset(ctx context.Context) error {
	queue := t.away()
	first := t.worker(queue)
	if err := first.Start(); err != nil {
		return err
	}
	run, err := t.start(ctx, client.StartWorkflowOptions{TaskQueue: queue}, Collect, t.signals, true)
	var event int64
	if err == nil {
		event, err = t.completed(ctx, run)
	}
	first.Stop()
	if err == nil {
		err = t.send(ctx, run.GetID(), t.signals)
	}
	if err != nil {
		return err
	}
	next, err := t.reset(ctx, run, event)
	if err != nil {
		return err
	}
	second := t.worker(queue)
	if err := second.Start(); err != nil {
		return err
	}
	defer second.Stop()
	if err := t.GetWorkflow(ctx, run.GetID(), next).Get(ctx, nil); err != nil {
		return fmt.Errorf("the run that was reset: %w", err)
	}
	for _, each := range []string{run.GetRunID(), next} {
		if err := t.gone(ctx, run.GetID(), each); err != nil {
			return err
		}
	}
	return nil
}

// grown makes a history of 50 MB, which Temporal still allows, reads and deletes it.
func (t *tester) grown(ctx context.Context) error {
	const rounds = 27
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Grow, rounds, most)
	if err == nil {
		err = t.end(ctx, run)
	}
	if err != nil {
		return err
	}
	history, bytes := t.GetWorkflowHistory(ctx, run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT), 0
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		bytes += event.Size()
	}
	if bytes < rounds*most.Size {
		return fmt.Errorf("a history of %d bytes", bytes)
	}
	return t.gone(ctx, run.GetID(), run.GetRunID())
}

// removeAll terminates and deletes every run of the namespace, and lets somebody ask for the tasks that nobody has
// asked for, which the server drops then.
func (t *tester) removeAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err := t.removeRuns(ctx)
	for _, queue := range []string{nobody, t.away()} {
		w := t.worker(queue)
		if err == nil {
			err = w.Start()
		}
		defer w.Stop()
	}
	for _, queue := range []string{queue, nobody, t.away()} {
		for _, kind := range []enumspb.TaskQueueType{enumspb.TASK_QUEUE_TYPE_WORKFLOW, enumspb.TASK_QUEUE_TYPE_ACTIVITY} {
			if err == nil {
				err = t.drained(ctx, queue, kind)
			}
		}
	}
	return err
}

// drained waits until a task queue has nothing to hand out. Of tasks whose commit was lost matching counts too many, on
// every store, until it has a reason to look: a queue that is unloaded is read anew.
func (t *tester) drained(ctx context.Context, queue string, kind enumspb.TaskQueueType) error {
	for looks := 1; ; looks++ {
		var state *workflowservice.DescribeTaskQueueResponse
		err := again(ctx, func() (err error) {
			state, err = t.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: t.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind, ReportStats: true,
			})
			return err
		})
		if err == nil && state.GetStats().GetApproximateBacklogCount() > 0 && t.lossy && looks%20 == 0 {
			err = t.unload(ctx, queue, kind)
		}
		if err != nil || state.GetStats().GetApproximateBacklogCount() == 0 {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// unload has matching forget the partitions of a task queue; whoever polls loads them again.
func (t *tester) unload(ctx context.Context, queue string, kind enumspb.TaskQueueType) error {
	c, err := grpc.NewClient(t.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	partitions := dynamicconfig.MatchingNumTaskqueueReadPartitions.Get(dynamicconfig.NewNoopCollection())(t.namespace, queue, kind)
	for i := range partitions {
		_, err := adminservice.NewAdminServiceClient(c).ForceUnloadTaskQueuePartition(ctx, &adminservice.ForceUnloadTaskQueuePartitionRequest{
			Namespace: t.namespace,
			TaskQueuePartition: &taskqueuespb.TaskQueuePartition{
				TaskQueue: queue, TaskQueueType: kind, PartitionId: &taskqueuespb.TaskQueuePartition_NormalPartitionId{NormalPartitionId: int32(i)},
			},
		})
		if err != nil {
			return fmt.Errorf("unload task queue %s: %w", queue, err)
		}
	}
	return nil
}

// removeRuns terminates and deletes until a list is empty. What was not heard of is listed again.
func (t *tester) removeRuns(ctx context.Context) error {
	for {
		var page *workflowservice.ListWorkflowExecutionsResponse
		err := again(ctx, func() (err error) {
			page, err = t.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: t.namespace, PageSize: 1000})
			return err
		})
		if err != nil || len(page.GetExecutions()) == 0 {
			return err
		}
		var all sync.WaitGroup
		room := make(chan struct{}, 10)
		failures := make([]error, len(page.GetExecutions()))
		for i, run := range page.GetExecutions() {
			room <- struct{}{}
			all.Go(func() {
				defer func() { <-room }()
				id, name := run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()
				if run.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
					failures[i] = t.terminate(ctx, id, name)
				}
				if failures[i] == nil {
					failures[i] = t.remove(ctx, id, name)
				}
			})
		}
		all.Wait()
		if err := errors.Join(failures...); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond) // visibility follows
	}
}

// scanHistory runs Temporal's own scanner of history, which deletes branches that no run has. An attempt to reset whose
// commit was lost leaves one: the branch is made before the run, on every store.
func scanHistory(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{HostPort: o.address, Namespace: "temporal-system", Logger: silent})
	if err != nil {
		return err
	}
	defer c.Close()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "scan-" + uuid(), TaskQueue: "temporal-sys-history-scanner-taskqueue-0",
	}, "temporal-sys-history-scanner-workflow")
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}
