package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// longest is how many bytes an id may have: Temporal's limit.maxIDLength, or what a column of PostgreSQL takes.
func (t *tester) longest() int {
	if t.stock {
		return 254
	}
	return 1000
}

// An SDK chooses the ids of timers by itself, so this speaks Temporal's API: it is client and worker of one workflow.
type idsCase struct {
	*tester
	unit  string // what ids are made of
	queue *taskqueuepb.TaskQueue
	made  *commonpb.WorkflowExecution
}

// id has the longest length that Temporal allows; others of the same unit differ in the last byte only.
func (c *idsCase) id(last byte) string {
	return strings.Repeat(c.unit, c.longest()/len(c.unit)-1) + strings.Repeat(string(rune(last)), len(c.unit))
}

func (t *tester) ids(unit string) func(context.Context) error {
	return func(ctx context.Context) error {
		c := &idsCase{tester: t, unit: unit}
		c.queue = &taskqueuepb.TaskQueue{Name: c.id('q')}
		for {
			err := c.whole(ctx)
			if !t.lossy || !isLost(err) || ctx.Err() != nil {
				return err
			}
			if err := c.discard(ctx); err != nil { // a lost answer: the case begins anew
				return err
			}
		}
	}
}

// whole is the workflow from its start to its deletion.
func (c *idsCase) whole(ctx context.Context) error {
	c.made = nil
	for _, part := range []func(context.Context) error{c.create, c.begin, c.finish} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return c.gone(ctx, c.made.WorkflowId, c.made.RunId)
}

// discard ends and deletes the run, if there is one.
func (c *idsCase) discard(ctx context.Context) error {
	if c.made == nil {
		return nil
	}
	if err := c.terminate(ctx, c.made.WorkflowId, c.made.RunId); err != nil {
		return err
	}
	return c.gone(ctx, c.made.WorkflowId, c.made.RunId)
}

func (c *idsCase) create(ctx context.Context) error {
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: c.namespace, WorkflowId: c.id('w'), WorkflowType: &commonpb.WorkflowType{Name: c.id('t')}, TaskQueue: c.queue,
		RequestId: c.id('r'), WorkflowTaskTimeout: durationpb.New(time.Minute),
	}
	var runs []string
	for range 2 { // the second is the same request, and so the same run
		started, err := c.WorkflowService().StartWorkflowExecution(ctx, request)
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		runs = append(runs, started.GetRunId())
	}
	if runs[0] != runs[1] {
		return fmt.Errorf("one request started two runs, %s and %s", runs[0], runs[1])
	}
	c.lock.Lock()
	c.started = append(c.started, request.WorkflowId)
	c.lock.Unlock()
	c.made = &commonpb.WorkflowExecution{WorkflowId: request.WorkflowId, RunId: runs[0]}
	return nil
}

// task takes the next workflow task; its answer is command by command.
func (c *idsCase) task(ctx context.Context, answer func([]*historypb.HistoryEvent) ([]*commandpb.Command, error)) error {
	task, err := c.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: c.namespace, TaskQueue: c.queue, Identity: "ids",
	})
	if err != nil {
		return fmt.Errorf("workflow task: %w", err)
	}
	if task.GetWorkflowExecution().GetRunId() != c.made.RunId {
		return fmt.Errorf("a workflow task of %v", task.GetWorkflowExecution())
	}
	commands, err := answer(task.GetHistory().GetEvents())
	if err != nil {
		return err
	}
	_, err = c.WorkflowService().RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: c.namespace, TaskToken: task.GetTaskToken(), Commands: commands, Identity: "ids",
	})
	return err
}

// begin has the workflow schedule two activities and three timers, whose ids differ at their ends, and cancels one.
func (c *idsCase) begin(ctx context.Context) error {
	err := c.task(ctx, func([]*historypb.HistoryEvent) ([]*commandpb.Command, error) {
		var commands []*commandpb.Command
		for _, last := range []byte{'1', '2'} {
			commands = append(commands, &commandpb.Command{
				CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
				Attributes: &commandpb.Command_ScheduleActivityTaskCommandAttributes{ScheduleActivityTaskCommandAttributes: &commandpb.ScheduleActivityTaskCommandAttributes{
					ActivityId: c.id(last), ActivityType: &commonpb.ActivityType{Name: c.id('a')}, TaskQueue: c.queue,
					StartToCloseTimeout: durationpb.New(time.Minute), ScheduleToCloseTimeout: durationpb.New(time.Minute),
				}},
			})
		}
		for _, last := range []byte{'1', '2', '3'} {
			commands = append(commands, &commandpb.Command{
				CommandType: enumspb.COMMAND_TYPE_START_TIMER,
				Attributes: &commandpb.Command_StartTimerCommandAttributes{StartTimerCommandAttributes: &commandpb.StartTimerCommandAttributes{
					TimerId: c.id(last), StartToFireTimeout: durationpb.New(3 * time.Second),
				}},
			})
		}
		return commands, nil
	})
	if err != nil {
		return err
	}
	for range 2 { // the second is the same signal
		if _, err := c.WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: c.namespace, WorkflowExecution: c.made, SignalName: c.id('s'), RequestId: c.id('g'),
		}); err != nil {
			return fmt.Errorf("signal: %w", err)
		}
	}
	return c.task(ctx, func([]*historypb.HistoryEvent) ([]*commandpb.Command, error) {
		return []*commandpb.Command{{
			CommandType: enumspb.COMMAND_TYPE_CANCEL_TIMER,
			Attributes: &commandpb.Command_CancelTimerCommandAttributes{CancelTimerCommandAttributes: &commandpb.CancelTimerCommandAttributes{
				TimerId: c.id('2'),
			}},
		}}, nil
	})
}

// finish ends the activities, one by its token and one by its id, waits for the timers, and ends the workflow.
func (c *idsCase) finish(ctx context.Context) error {
	for i := range 2 {
		task, err := c.WorkflowService().PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{
			Namespace: c.namespace, TaskQueue: c.queue, Identity: "ids",
		})
		if err != nil {
			return fmt.Errorf("activity task: %w", err)
		}
		if i == 0 {
			_, err = c.WorkflowService().RespondActivityTaskCompleted(ctx, &workflowservice.RespondActivityTaskCompletedRequest{
				Namespace: c.namespace, TaskToken: task.GetTaskToken(),
			})
		} else {
			_, err = c.WorkflowService().RespondActivityTaskCompletedById(ctx, &workflowservice.RespondActivityTaskCompletedByIdRequest{
				Namespace: c.namespace, WorkflowId: c.made.WorkflowId, RunId: c.made.RunId, ActivityId: task.GetActivityId(),
			})
		}
		if err != nil {
			return fmt.Errorf("activity: %w", err)
		}
	}
	for over := false; !over; {
		err := c.task(ctx, func(events []*historypb.HistoryEvent) ([]*commandpb.Command, error) {
			said, wanted := c.seen(events), []string{"activity", "activity", "cancelled 2", "fired 1", "fired 3", "signal"}
			if over = len(said) >= len(wanted); !over {
				return nil, nil
			}
			if !slices.Equal(said, wanted) {
				return nil, fmt.Errorf("the history tells %q", said)
			}
			return []*commandpb.Command{{
				CommandType: enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
				Attributes:  &commandpb.Command_CompleteWorkflowExecutionCommandAttributes{CompleteWorkflowExecutionCommandAttributes: &commandpb.CompleteWorkflowExecutionCommandAttributes{}},
			}}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seen is what happened, sorted; ids by their last byte.
func (c *idsCase) seen(events []*historypb.HistoryEvent) (out []string) {
	last := func(id string) string {
		if len(id) != c.longest() {
			return fmt.Sprintf("id of %d bytes", len(id))
		}
		return id[len(id)-1:]
	}
	for _, event := range events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			out = append(out, "activity")
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			out = append(out, "fired "+last(event.GetTimerFiredEventAttributes().GetTimerId()))
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			out = append(out, "cancelled "+last(event.GetTimerCanceledEventAttributes().GetTimerId()))
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			out = append(out, "signal")
		}
	}
	slices.Sort(out)
	return out
}
