package main

import (
	"context"
	"fmt"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// auditVisible holds what visibility lists for a workflow id against its histories: the same runs, the last one first,
// each with its status, its length, its times and its search attributes. SQL keeps microseconds of a time.
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
		start, end := info.GetStartTime().AsTime().Truncate(time.Microsecond), info.GetCloseTime().AsTime().Truncate(time.Microsecond)
		if info.GetStatus() != statusOf(n, len(all.runs)) || info.GetHistoryLength() != int64(len(events)) || info.GetType().GetName() != "Check" ||
			!start.Equal(first.Truncate(time.Microsecond)) || !end.Equal(last.Truncate(time.Microsecond)) {
			return fmt.Errorf("visibility has run %s as %s with %d events from %v to %v; it has %d events from %v to %v", run, info.GetStatus(),
				info.GetHistoryLength(), start, end, len(events), first, last)
		}
		if err := auditAttributes(run, events, info); err != nil {
			return err
		}
	}
	return nil
}

// listed are all runs that a query finds.
func (c *checker) listed(ctx context.Context, query string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	var all []*workflowpb.WorkflowExecutionInfo
	for token := []byte(nil); ; {
		page, err := c.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, Query: query, PageSize: 2, NextPageToken: token,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetExecutions()...)
		if token = page.GetNextPageToken(); len(token) == 0 {
			return all, nil
		}
	}
}

// visible waits until visibility, which follows behind, has what the histories say, however it is asked.
func (c *checker) visible(ctx context.Context, id string, all chain) error {
	for _, query := range questions(id, all) {
		for {
			var infos []*workflowpb.WorkflowExecutionInfo
			err := c.until(ctx, func(ctx context.Context) (err error) {
				infos, err = c.listed(ctx, query)
				return err
			})
			if err != nil {
				return err
			}
			if err = auditVisible(all, infos); err == nil {
				break
			}
			if time.Now().After(c.visibleBy) {
				return fmt.Errorf("%s: %w", query, err)
			}
			time.Sleep(time.Second)
		}
	}
	return nil
}
