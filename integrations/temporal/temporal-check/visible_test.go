package main

import (
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestWhatVisibilityHasWrongIsFound(t *testing.T) {
	begin := time.Unix(1_700_000_000, 123_456_789)
	events := history("activity", "id")
	named := func(step, what string) *commonpb.SearchAttributes {
		return &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
			"CheckSteps": {Data: []byte(step)}, "CheckKey": {Data: []byte(what)}, "BuildIds": {Data: []byte("theirs")},
		}}
	}
	events[0].GetWorkflowExecutionStartedEventAttributes().SearchAttributes = named("1", "id")
	upserted := &historypb.UpsertWorkflowSearchAttributesEventAttributes{SearchAttributes: &commonpb.SearchAttributes{
		IndexedFields: map[string]*commonpb.Payload{"CheckSteps": {Data: []byte("2")}},
	}}
	events[3].Attributes = &historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes{UpsertWorkflowSearchAttributesEventAttributes: upserted}
	for i, e := range events {
		e.EventTime = timestamppb.New(begin.Add(time.Duration(i) * time.Second))
	}
	all := chain{[]string{"a", "b"}, [][]*historypb.HistoryEvent{events, events}}
	listed := func() []*workflowpb.WorkflowExecutionInfo {
		var infos []*workflowpb.WorkflowExecutionInfo
		for n, run := range all.runs {
			infos = append(infos, &workflowpb.WorkflowExecutionInfo{
				Execution: &commonpb.WorkflowExecution{WorkflowId: "id", RunId: run}, Type: &commonpb.WorkflowType{Name: "Check"},
				SearchAttributes: named("2", "id"),
				Status:           statusOf(n, len(all.runs)), HistoryLength: int64(len(events)), StartTime: timestamppb.New(begin.Truncate(time.Microsecond)),
				CloseTime: timestamppb.New(begin.Add(time.Duration(len(events)-1) * time.Second).Truncate(time.Microsecond)),
			})
		}
		return infos
	}
	if err := auditVisible(all, listed()); err != nil {
		t.Fatal(err)
	}
	for name, breaks := range map[string]func([]*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo{
		"a run is missing": func(l []*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo { return l[1:] },
		"a run comes twice": func(l []*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo {
			return append(l[:1:1], l[0])
		},
		"a run is too many": func(l []*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo {
			return append(l, l[0])
		},
		"a run is still open": changed(func(i *workflowpb.WorkflowExecutionInfo) { i.Status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }),
		"an older length":     changed(func(i *workflowpb.WorkflowExecutionInfo) { i.HistoryLength-- }),
		"no end":              changed(func(i *workflowpb.WorkflowExecutionInfo) { i.CloseTime = nil }),
		"another start":       changed(func(i *workflowpb.WorkflowExecutionInfo) { i.StartTime = i.CloseTime }),
		"no attributes":       changed(func(i *workflowpb.WorkflowExecutionInfo) { i.SearchAttributes = nil }),
		"older attributes":    changed(func(i *workflowpb.WorkflowExecutionInfo) { i.SearchAttributes = named("1", "id") }),
		"other attributes":    changed(func(i *workflowpb.WorkflowExecutionInfo) { i.SearchAttributes = named("2", "other") }),
		"another type":        changed(func(i *workflowpb.WorkflowExecutionInfo) { i.Type = nil }),
	} {
		if auditVisible(all, breaks(listed())) == nil {
			t.Errorf("%s, and nobody notices", name)
		}
	}
}

func changed(change func(*workflowpb.WorkflowExecutionInfo)) func([]*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo {
	return func(l []*workflowpb.WorkflowExecutionInfo) []*workflowpb.WorkflowExecutionInfo {
		change(l[1])
		return l
	}
}
