package main

import (
	"fmt"
	"time"
)

// The queries that Temporal's Web UI and its server ask by themselves, with the values of a run that is there.
func fixedQueries(seed uint64) []string {
	run := writesOf(seed, 0)[0]
	child := run
	for i := 0; child.parentRun == nil; i++ {
		child = writesOf(seed, i)[0]
	}
	double := func(text string) string { return `"` + text + `"` }
	since := double(origin.Add(3 * time.Hour).Format(time.RFC3339))
	return []string{
		// the Web UI: saved views, filters, the pages of a workflow, of a schedule and of a deployment, batches
		"",
		"`ExecutionStatus`=\"Running\"",
		"`ExecutionStatus`=\"Running\" OR `ExecutionStatus`=\"Failed\"",
		"(`ExecutionStatus`=\"Completed\" OR `ExecutionStatus`=\"Failed\") AND `WorkflowType`=\"Pay\"",
		"`ParentWorkflowId` is null",
		"StartTime >= " + since,
		"StartTime >= " + since + " AND `ExecutionStatus`=\"Completed\"",
		"StartTime BETWEEN " + since + " AND " + double(origin.Add(48*time.Hour).Format(time.RFC3339)),
		"CloseTime > " + since,
		"`TemporalSchedulePaused`=true",
		"`WorkflowId` STARTS_WITH \"order\"",
		"`WorkflowType` STARTS_WITH \"P\" AND `WorkflowId`!=" + double(run.workflowID),
		"`ExecutionDuration`>\"1h\"",
		"`HistoryLength`>=10",
		"`KeywordList01`in(\"alpha\", \"beta\")",
		"`Bool01`=true",
		"`Text01`=\"alpha\"",
		"`ExecutionStatus`=\"Running\" AND `TemporalReportedProblems` IN (\"category=WorkflowTaskFailed\", \"category=WorkflowTaskTimedOut\")",
		fmt.Sprintf("WorkflowId=%q", run.workflowID),
		fmt.Sprintf("RunId = %q AND WorkflowType = %q AND WorkflowId = %q", run.runID, run.typeName, run.workflowID),
		fmt.Sprintf("RunId=%q OR RunId=%q OR RunId=%q", run.runID, child.runID, writesOf(seed, 7)[0].runID),
		fmt.Sprintf("ParentWorkflowId = %q", *child.parent),
		fmt.Sprintf("ParentWorkflowId = %q AND ParentRunId = %q", *child.parent, *child.parentRun),
		fmt.Sprintf("RootWorkflowId = %q", child.root),
		fmt.Sprintf("RootWorkflowId = %q AND RootRunId = %q", child.root, child.rootRun),
		"TaskQueue=\"main\"",
		"TemporalScheduledById=\"order-1\"",
		"TemporalScheduledById=\"order-1\" AND WorkflowId in (\"order-1\", \"order-2\") AND ExecutionStatus != \"ContinuedAsNew\"",
		"TemporalNamespaceDivision=\"TemporalScheduler\" AND ExecutionStatus=\"Running\"",
		"TemporalWorkerDeployment=\"a\"",
		"TemporalWorkerDeploymentVersion=\"alpha\"",
		"TemporalWorkflowVersioningBehavior=\"a\"",
		// the server: deletion of a namespace, batches, schedules, deployments and their drainage, build ids
		"TemporalNamespaceDivision IS NULL OR TemporalNamespaceDivision IS NOT NULL",
		"(ExecutionStatus='Running' OR ExecutionStatus='Paused') AND (WorkflowType = 'Pay')",
		"TemporalNamespaceDivision = 'TemporalBatcher'",
		"TemporalNamespaceDivision = 'TemporalScheduler' AND ExecutionStatus = 'Running'",
		"WorkflowType = 'temporal-sys-worker-deployment-workflow' AND TemporalNamespaceDivision = 'TemporalWorkerDeployment' AND ExecutionStatus = 'Running'",
		"TemporalWorkerDeploymentVersion = 'alpha' AND TemporalWorkflowVersioningBehavior = 'a' AND ExecutionStatus = 'Running'",
		"TaskQueue = 'main' AND BuildIds IN ('alpha', 'ab') AND ExecutionStatus = \"Running\"",
		"TaskQueue = 'main' AND BuildIds IS NULL",
	}
}

// always is the number of those queries: every store must answer them.
const always = -1

// fixed are those queries in every namespace, as lists and as counts by status.
func fixed(seed uint64) []*query {
	var all []*query
	for _, text := range fixedQueries(seed) {
		for _, namespace := range namespaces {
			for _, group := range []string{"", "ExecutionStatus"} {
				all = append(all, &query{number: always, namespace: namespace, tail: text, groupBy: group, page: 100})
			}
		}
	}
	return all
}
