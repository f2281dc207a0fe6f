package main

import (
	"context"
	"fmt"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// auditVisible holds what visibility lists for a workflow id against its histories: the same runs, the last one first,
// each with its status, its length and its times. Visibility keeps microseconds.
func auditVisible(all chain, listed []*workflowpb.WorkflowExecutionInfo) error {
	if len(listed) != len(all.runs) {
		return fmt.Errorf("visibility has %d runs, there are %d", len(listed), len(all.runs))
	}
	byRun := map[string]*workflowpb.WorkflowExecutionInfo{}
	for _, info := range listed {
		byRun[info.GetExecution().GetRunId()] = info
	}
	for n, run := range all.runs {
		info, events := byRun[run], all.events[n]
		if info == nil {
			return fmt.Errorf("visibility does not have run %s", run)
		}
		first, last := events[0].GetEventTime().AsTime(), events[len(events)-1].GetEventTime().AsTime()
		start, end := info.GetStartTime().AsTime(), info.GetCloseTime().AsTime()
		if info.GetStatus() != statusOf(n, len(all.runs)) || info.GetHistoryLength() != int64(len(events)) || info.GetType().GetName() != "Check" ||
			!start.Equal(first.Truncate(time.Microsecond)) || !end.Equal(last.Truncate(time.Microsecond)) {
			return fmt.Errorf("visibility has run %s as %s with %d events from %v to %v; it has %d events from %v to %v", run, info.GetStatus(),
				info.GetHistoryLength(), start, end, len(events), first, last)
		}
	}
	return nil
}

// visible waits until visibility, which follows behind, has what the histories say.
func (c *checker) visible(ctx context.Context, id string, all chain) error {
	for {
		var listed []*workflowpb.WorkflowExecutionInfo
		err := c.until(ctx, func(ctx context.Context) error {
			listed = nil
			for token := []byte(nil); ; {
				page, err := c.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
					Namespace: namespace, Query: fmt.Sprintf("WorkflowId = '%s'", id), PageSize: 2, NextPageToken: token,
				})
				if err != nil {
					return err
				}
				listed = append(listed, page.GetExecutions()...)
				if token = page.GetNextPageToken(); len(token) == 0 {
					return nil
				}
			}
		})
		if err != nil {
			return err
		}
		if err = auditVisible(all, listed); err == nil || time.Now().After(c.visibleBy) {
			return err
		}
		time.Sleep(time.Second)
	}
}
