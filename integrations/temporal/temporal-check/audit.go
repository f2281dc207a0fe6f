package main

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// What "exactly once" means, looked up in the history of a run. Nothing here asks the server.
//
//  1. Events count from 1 without a gap. The first starts the run, the last ends it, and no other does.
//  2. Whatever an event begins (a workflow task, an activity, a timer, a child) ends in the same history,
//     once, the way it should; only workflow tasks may end badly and are then tried again.
//  3. No event ends or starts what was not begun before it.
//  4. There are as many of each as the workflow of that kind asks for, no more and no fewer.
//  5. Results are the ones asked for.

// wrong is a finding, which no retry mends.
type wrong struct{ text string }

func (w *wrong) Error() string { return w.text }

func found(format string, values ...any) error { return &wrong{fmt.Sprintf(format, values...)} }

// A thing is begun by one event and carried on by others, which name it by that event's id.
type thing int

const (
	workflowTask thing = iota
	activityTask
	timer
	child
	things
)

func (t thing) String() string {
	return [...]string{"workflow task", "activity", "timer", "child"}[t]
}

type step int

const (
	begun step = iota
	started
	well   // ended as it should
	failed // ended, and is tried again
)

// about says which thing an event is about, what it means for it, and which event began it.
func about(e *historypb.HistoryEvent) (t thing, s step, of int64, ok bool) {
	ok = true
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
		t, s, of = workflowTask, begun, e.GetEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		t, s, of = workflowTask, started, e.GetWorkflowTaskStartedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		t, s, of = workflowTask, well, e.GetWorkflowTaskCompletedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		t, s, of = workflowTask, failed, e.GetWorkflowTaskTimedOutEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		t, s, of = workflowTask, failed, e.GetWorkflowTaskFailedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		t, s, of = activityTask, begun, e.GetEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		t, s, of = activityTask, started, e.GetActivityTaskStartedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		t, s, of = activityTask, well, e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		t, s, of = timer, begun, e.GetEventId()
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		t, s, of = timer, well, e.GetTimerFiredEventAttributes().GetStartedEventId()
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		t, s, of = timer, well, e.GetTimerCanceledEventAttributes().GetStartedEventId()
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		t, s, of = child, begun, e.GetEventId()
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		t, s, of = child, started, e.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		t, s, of = child, well, e.GetChildWorkflowExecutionCompletedEventAttributes().GetInitiatedEventId()
	default:
		ok = false
	}
	return t, s, of, ok
}

// What a run of a workflow must have had. Workflow tasks are as many as they are.
type wanted struct {
	activities, fired, canceled, children, signals, cancels int
	continued                                               bool   // ends with a next run
	answer                                                  string // of the activity and, unless continued, of the run
}

// want is what run number n of a workflow of this kind must have had, and how many runs there must be.
func want(kind, id string, n int) (w wanted, runs int) {
	w = wanted{activities: 1, answer: expected(kind, id)}
	runs = 1
	switch kind {
	case "timer":
		w.fired = 1
	case "signal":
		w.signals = 1
	case "child":
		w.children = 1
	case "cancel":
		w.canceled, w.cancels = 1, 1
	case "again":
		runs = 3
		if n < runs-1 {
			w.activities, w.continued = 0, true
		}
	}
	return w, runs
}

func text(payloads *commonpb.Payloads) string {
	var s string
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &s); err != nil {
		return err.Error()
	}
	return s
}

// auditRun looks at the whole history of one run.
func auditRun(events []*historypb.HistoryEvent, w wanted) error {
	count := map[enumspb.EventType]int{}
	states := [things]map[int64]step{}
	for t := range states {
		states[t] = map[int64]step{}
	}
	for i, e := range events {
		if e.GetEventId() != int64(i+1) {
			return found("event %d where %d should be", e.GetEventId(), i+1)
		}
		kind := e.GetEventType()
		count[kind]++
		if first := kind == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED; first != (i == 0) {
			return found("event %d is %s", i+1, kind)
		}
		ends := kind == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED ||
			kind == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
		if ends != (i == len(events)-1) {
			return found("event %d of %d is %s", i+1, len(events), kind)
		}
		switch t, s, of, ok := about(e); {
		case ok:
			was, known := states[t][of]
			skipped := s == well && was == begun && t != timer // a timer is never seen to start
			if s != begun && (!known || was >= well || was >= s || skipped) {
				return found("event %d: %s of %s %d, which is not open for it", i+1, kind, t, of)
			}
			states[t][of] = s
		case !ends && !harmless(kind):
			return found("event %d is %s, which no workflow here asks for", i+1, kind)
		}
		if kind == enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
			if got := text(e.GetActivityTaskCompletedEventAttributes().GetResult()); got != w.answer {
				return found("event %d: the activity answered %q, not %q", i+1, got, w.answer)
			}
		}
	}
	if len(events) == 0 {
		return found("there are no events")
	}
	for t, open := range states {
		for id, s := range open {
			if s < well {
				return found("%s %d never ended", thing(t), id)
			}
		}
	}
	for kind, wanted := range map[enumspb.EventType]int{
		enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:                  w.activities,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:                    w.activities,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:                  w.activities,
		enumspb.EVENT_TYPE_TIMER_FIRED:                              w.fired,
		enumspb.EVENT_TYPE_TIMER_CANCELED:                           w.canceled,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: w.children,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:         w.children,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:       w.children,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:              w.signals,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:      w.cancels,
	} {
		if count[kind] != wanted {
			return found("%d events %s, not %d", count[kind], kind, wanted)
		}
	}
	last := events[len(events)-1]
	if continued := last.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil; continued != w.continued {
		return found("the run ends with %s", last.GetEventType())
	}
	if !w.continued {
		if got := text(last.GetWorkflowExecutionCompletedEventAttributes().GetResult()); got != w.answer {
			return found("the run answered %q, not %q", got, w.answer)
		}
	}
	return nil
}

// harmless events are counted, not followed.
func harmless(kind enumspb.EventType) bool {
	switch kind {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return true
	}
	return false
}

// A chain is all runs of one workflow id, first to last.
type chain struct {
	runs   []string
	events [][]*historypb.HistoryEvent
}

// auditChain looks at each run, and at how they are linked.
func auditChain(c chain, kind, id string) error {
	_, runs := want(kind, id, 0)
	if len(c.runs) != runs {
		return found("%s: %d runs, not %d", id, len(c.runs), runs)
	}
	for n, events := range c.events {
		w, _ := want(kind, id, n)
		if err := auditRun(events, w); err != nil {
			return found("%s, run %d (%s): %v", id, n+1, c.runs[n], err)
		}
		begin := events[0].GetWorkflowExecutionStartedEventAttributes()
		before := ""
		if n > 0 {
			before = c.runs[n-1]
		}
		if begin.GetFirstExecutionRunId() != c.runs[0] || begin.GetContinuedExecutionRunId() != before {
			return found("%s: run %s says that it is of %s and follows %q", id, c.runs[n],
				begin.GetFirstExecutionRunId(), begin.GetContinuedExecutionRunId())
		}
	}
	return nil
}
