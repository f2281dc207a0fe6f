package main

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// history writes one as a server does for a workflow of this kind.
func history(kind, id string) []*historypb.HistoryEvent {
	var events []*historypb.HistoryEvent
	add := func(e *historypb.HistoryEvent, kind enumspb.EventType) int64 {
		e.EventType = kind
		e.EventId = int64(len(events) + 1)
		events = append(events, e)
		return e.EventId
	}
	answer, _ := converter.GetDefaultDataConverter().ToPayloads(expected(kind, id))
	task := func() {
		of := add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
			WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: of},
		}}, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED)
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
			WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: of},
		}}, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
	}
	add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{FirstExecutionRunId: "first"},
	}}, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
	task()
	switch kind {
	case "timer":
		of := add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_TIMER_STARTED)
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_TimerFiredEventAttributes{
			TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{StartedEventId: of},
		}}, enumspb.EVENT_TYPE_TIMER_FIRED)
		task()
	case "signal":
		add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
		task()
	case "child":
		of := add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionStartedEventAttributes{
			ChildWorkflowExecutionStartedEventAttributes: &historypb.ChildWorkflowExecutionStartedEventAttributes{InitiatedEventId: of},
		}}, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)
		task()
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionCompletedEventAttributes{
			ChildWorkflowExecutionCompletedEventAttributes: &historypb.ChildWorkflowExecutionCompletedEventAttributes{InitiatedEventId: of},
		}}, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED)
		task()
	case "cancel":
		of := add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_TIMER_STARTED)
		add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED)
		task()
		add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_TimerCanceledEventAttributes{
			TimerCanceledEventAttributes: &historypb.TimerCanceledEventAttributes{StartedEventId: of},
		}}, enumspb.EVENT_TYPE_TIMER_CANCELED)
	}
	of := add(&historypb.HistoryEvent{}, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
	add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
		ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: of},
	}}, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED)
	add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
		ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: of, Result: answer},
	}}, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
	task()
	add(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
		WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: answer},
	}}, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
	return events
}

// renumbered gives events ids that count from 1 again, and lets what they refer to follow: a fault that the
// numbers alone do not show. what[i] is where event i came from.
func renumbered(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	now := map[int64]int64{}
	for i := len(events) - 1; i >= 0; i-- { // of two with one id, the first keeps what refers to it
		now[events[i].GetEventId()] = int64(i + 1)
	}
	for i, e := range events {
		e = proto.Clone(e).(*historypb.HistoryEvent)
		e.EventId = int64(i + 1)
		for _, of := range []*int64{
			scheduled(e.GetWorkflowTaskStartedEventAttributes()), scheduled(e.GetWorkflowTaskCompletedEventAttributes()),
			scheduled(e.GetActivityTaskStartedEventAttributes()), scheduled(e.GetActivityTaskCompletedEventAttributes()),
			scheduled(e.GetTimerFiredEventAttributes()), scheduled(e.GetTimerCanceledEventAttributes()),
			scheduled(e.GetChildWorkflowExecutionStartedEventAttributes()), scheduled(e.GetChildWorkflowExecutionCompletedEventAttributes()),
		} {
			if of != nil {
				*of = now[*of]
			}
		}
		events[i] = e
	}
	return events
}

// scheduled is where an event names the one that began what it is about; nil if it is no such event.
func scheduled(attributes any) *int64 {
	switch a := attributes.(type) {
	case *historypb.WorkflowTaskStartedEventAttributes:
		if a != nil {
			return &a.ScheduledEventId
		}
	case *historypb.WorkflowTaskCompletedEventAttributes:
		if a != nil {
			return &a.ScheduledEventId
		}
	case *historypb.ActivityTaskStartedEventAttributes:
		if a != nil {
			return &a.ScheduledEventId
		}
	case *historypb.ActivityTaskCompletedEventAttributes:
		if a != nil {
			return &a.ScheduledEventId
		}
	case *historypb.TimerFiredEventAttributes:
		if a != nil {
			return &a.StartedEventId
		}
	case *historypb.TimerCanceledEventAttributes:
		if a != nil {
			return &a.StartedEventId
		}
	case *historypb.ChildWorkflowExecutionStartedEventAttributes:
		if a != nil {
			return &a.InitiatedEventId
		}
	case *historypb.ChildWorkflowExecutionCompletedEventAttributes:
		if a != nil {
			return &a.InitiatedEventId
		}
	}
	return nil
}

// Every event of every kind, lost or doubled, with and without a gap in the numbers, is found.
func TestLostAndDoubledEventsAreFound(t *testing.T) {
	for _, kind := range []string{"activity", "timer", "signal", "child", "cancel"} {
		w, _ := want(kind, "id", 0)
		events := history(kind, "id")
		if err := auditRun(events, w); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for i, e := range events {
			lost := append(append([]*historypb.HistoryEvent{}, events[:i]...), events[i+1:]...)
			doubled := append(append([]*historypb.HistoryEvent{}, events[:i+1]...), events[i:]...)
			for name, broken := range map[string][]*historypb.HistoryEvent{
				"lost": lost, "doubled": doubled,
			} {
				if auditRun(broken, w) == nil {
					t.Errorf("%s: %s is %s, and nobody notices", kind, e.GetEventType(), name)
				}
				if auditRun(renumbered(broken), w) == nil {
					t.Errorf("%s: %s is %s and the rest renumbered, and nobody notices", kind, e.GetEventType(), name)
				}
			}
		}
	}
}

func TestWrongAnswersAreFound(t *testing.T) {
	w, _ := want("activity", "id", 0)
	if auditRun(history("activity", "other"), w) == nil {
		t.Fatal("the answer of another workflow passes")
	}
}

func TestBrokenChainsAreFound(t *testing.T) {
	link := func(first, before, next string) []*historypb.HistoryEvent {
		events := history("again", "id")
		begin := events[0].GetWorkflowExecutionStartedEventAttributes()
		begin.FirstExecutionRunId, begin.ContinuedExecutionRunId = first, before
		if next != "" {
			events = append(events[:4:4], &historypb.HistoryEvent{
				EventId: 5, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
				Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
					WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{
						NewExecutionRunId: next,
					},
				},
			})
		}
		return events
	}
	good := func() chain {
		return chain{[]string{"a", "b", "c"}, [][]*historypb.HistoryEvent{link("a", "", "b"), link("a", "a", "c"), link("a", "b", "")}}
	}
	if err := auditChain(good(), "again", "id"); err != nil {
		t.Fatal(err)
	}
	for name, breaks := range map[string]func(*chain){
		"a run is missing":   func(c *chain) { c.runs, c.events = c.runs[1:], c.events[1:] },
		"a run is too many":  func(c *chain) { c.runs, c.events = append(c.runs, "d"), append(c.events, link("a", "c", "")) },
		"a run follows none": func(c *chain) { c.events[1] = link("a", "", "c") },
		"of another chain":   func(c *chain) { c.events[2] = link("x", "b", "") },
		"ended twice":        func(c *chain) { c.events[1] = link("a", "a", "") },
		"never ended":        func(c *chain) { c.events[2] = link("a", "b", "d") },
	} {
		c := good()
		breaks(&c)
		if auditChain(c, "again", "id") == nil {
			t.Errorf("%s, and nobody notices", name)
		}
	}
}
