package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/server/common/primitives"
)

// What Temporal answers to what is beyond its limits, and this store to what is beyond the service's.
const (
	beyondBlob        = "Blob data size exceeds limit." // limit.blobSize.error
	beyondAttributes  = "exceeds size limit"
	beyondMessage     = "GrpcMessageTooLarge"             // 4 MB, what a worker may answer
	beyondTransaction = "Transaction size exceeds limit." // a transaction of the service
	beyondHistory     = "Workflow history size exceeds limit."
	beyondSignals     = "exceeded workflow execution limit for signal events"
)

func (t *tester) cases() []testCase {
	return []testCase{
		// Each of the sizes, of random bytes and of text, in every place.
		{name: "input", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Take, b.bytes(), b, nothing) })},
		{name: "result", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Take, []byte{}, nothing, b) })},
		{name: "activity-input", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Each, 1, b, nothing) })},
		{name: "activity-result", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Each, 1, nothing, b) })},
		{name: "activity-heartbeat", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Heartbeat, b) })},
		{name: "signal", run: t.sizes(t.signal)},
		{name: "query", run: t.sizes(t.query)},
		{name: "update", run: t.sizes(t.update)},
		{name: "memo", run: t.sizes(t.memo)},
		{name: "memo-upserted", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Remember, b) })},
		{name: "side-effect", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Aside, b) })},
		{name: "continue-as-new", run: t.sizes(func(ctx context.Context, b block) error { return t.run(ctx, Again, b.bytes(), b, 2) })},
		{name: "buffered-signal", run: t.sizes(func(ctx context.Context, b block) error { return t.buffered(ctx, 1, b) })},
		{name: "search-attributes", run: func(ctx context.Context) error { return t.attributes(ctx, mostOfAttribute) }},
		{name: "activities-12-of-90k", run: func(ctx context.Context) error { return t.run(ctx, Each, 12, block{Size: 90_000}, nothing) }},
		{name: "activities-40-of-90k", run: func(ctx context.Context) error { return t.run(ctx, Each, 40, block{Size: 90_000}, nothing) }},
		{name: "buffered-signals-6-of-300k", run: func(ctx context.Context) error { return t.buffered(ctx, 6, block{Size: 300_000}) }},
		{name: "buffered-signals-10-of-300k", run: func(ctx context.Context) error { return t.buffered(ctx, 10, block{Size: 300_000}) }},
		{name: "buffered-signals-terminate-delete", run: t.bufferedGone},

		// What is beyond Temporal's own limits.
		{name: "input-beyond", refused: beyondBlob, run: func(ctx context.Context) error { return t.run(ctx, Take, tooLong.bytes(), tooLong, nothing) }},
		{name: "signal-beyond", refused: beyondBlob, run: func(ctx context.Context) error { return t.signal(ctx, tooLong) }},
		{name: "search-attributes-90k", refused: beyondAttributes, run: func(ctx context.Context) error { return t.attributes(ctx, 90_000) }},
		{name: "activities-50-of-90k", refused: beyondMessage, run: func(ctx context.Context) error { return t.run(ctx, Each, 50, block{Size: 90_000}, nothing) }},

		// Ids as long as they may be, in every place of one workflow.
		{name: "ids", run: t.ids("i")},
		{name: "ids-multibyte", run: t.ids("\u00e9")},

		// Many things in one workflow task.
		{name: "many-activities", run: t.manyOf("activities")},
		{name: "many-timers", run: t.manyOf("timers")},
		{name: "many-children", run: t.manyOf("children")},
		{name: "many-signals", run: t.manyOf("signals")},
		{name: "many-cancels", run: t.manyOf("cancels")},
		{name: "many-together", here: t.together(), run: t.manyOf("together")},
		{name: "pending-activities-reset-delete", run: t.pendingGone("pending")},
		{name: "pending-timers-reset-delete", run: t.pendingGone("waiting")},

		// Thousands of signals, and a long history.
		{name: "signals-terminate-delete", run: t.signalsGone},
		{name: "signals-reset-continue-as-new", run: t.signalsReset},
		{name: "history-50m-delete", run: t.grown},
		{name: "history-beyond", refused: beyondHistory, run: func(ctx context.Context) error { return t.run(ctx, Grow, 30, most) }},
	}
}

// run starts a workflow and waits for its end.
func (t *tester) run(ctx context.Context, workflow any, args ...any) error {
	started, err := t.start(ctx, client.StartWorkflowOptions{}, workflow, args...)
	if err != nil {
		return err
	}
	return t.end(ctx, started)
}

func (t *tester) start(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	t.lock.Lock()
	o.ID = fmt.Sprintf("%s-%s-%d", t.prefix, t.current, len(t.started))
	t.started = append(t.started, o.ID)
	t.lock.Unlock()
	if o.TaskQueue == "" {
		o.TaskQueue = queue
	}
	o.WorkflowTaskTimeout = t.task
	var run client.WorkflowRun
	err := again(ctx, func() (err error) {
		run, err = t.ExecuteWorkflow(ctx, o, workflow, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	return run, nil
}

// isLost tells whether the server did not hear of its own commit. It says DeadlineExceeded then, which the SDK leaves to its
// caller, and Unavailable until it knows its shard again, which the SDK repeats only in its own calls.
func isLost(err error) bool {
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, away := errors.AsType[*serviceerror.Unavailable](err)
	return late || away
}

// again repeats what the server could not answer. What is repeated has an id, and counts once.
func again(ctx context.Context, call func() error) error {
	for {
		err := call()
		if !isLost(err) || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tell sends a signal.
func (t *tester) tell(ctx context.Context, id, name string, arg any) error {
	input, err := converter.GetDefaultDataConverter().ToPayloads(arg)
	if err != nil {
		return err
	}
	request := &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: t.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
		SignalName: name, Input: input, RequestId: uuid(),
	}
	return again(ctx, func() error {
		_, err := t.WorkflowService().SignalWorkflowExecution(ctx, request)
		return err
	})
}

func uuid() string { return primitives.NewUUID().String() }

// end waits for a workflow. Of one that the server has terminated it tells the reason, which only the history has.
func (t *tester) end(ctx context.Context, run client.WorkflowRun) error {
	err := run.Get(ctx, nil)
	if _, terminated := errors.AsType[*temporal.TerminatedError](err); !terminated {
		return err
	}
	history := t.GetWorkflowHistory(ctx, run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	for history.HasNext() {
		event, failed := history.Next()
		if failed != nil {
			return errors.Join(err, failed)
		}
		if ended := event.GetWorkflowExecutionTerminatedEventAttributes(); ended != nil {
			err = fmt.Errorf("terminated: %s (%.300s)", ended.GetReason(), ended.GetDetails())
		}
	}
	return err
}

// manyOf does many things of a kind in one workflow task.
func (t *tester) manyOf(kind string) func(context.Context) error {
	return func(ctx context.Context) error {
		target, err := t.start(ctx, client.StartWorkflowOptions{}, Stubborn)
		if err != nil {
			return err
		}
		err = t.run(ctx, Many, kind, t.many, target.GetID())
		return errors.Join(err, t.tell(ctx, target.GetID(), "end", nil))
	}
}

// together is what this store answers to all kinds at once: a transaction of the service changes 3,000 rows, and each
// thing is one.
func (t *tester) together() string {
	if 5*t.many < 3000 {
		return ""
	}
	return beyondTransaction
}
