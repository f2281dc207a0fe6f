package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"

	"go.temporal.io/api/serviceerror"
	enumsspb "go.temporal.io/server/api/enums/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/primitives"
)

// What requests say about the rows that their operations lock. An operation whose request leaves it open is
// run without a plan.

const completed = int64(enumsspb.WORKFLOW_EXECUTION_STATE_COMPLETED)

// runOf is nil for what is no run id; nothing is foreseen of it.
func runOf(id string) primitives.UUID {
	run, err := primitives.ParseUUID(id)
	if err != nil {
		return nil
	}
	return run
}

func (p *plan) expectRun(run string, dbRecordVersion, condition int64) {
	id := runOf(run)
	if id == nil {
		return
	}
	if p.executions == nil {
		p.executions = map[string]expectedRun{}
	}
	expected := expectedRun{nextEvent: &condition}
	if dbRecordVersion != 0 {
		before := dbRecordVersion - 1
		expected = expectedRun{version: &before}
	}
	p.executions[string(id)] = expected
}

func (p *plan) expectMutation(m *persistence.InternalWorkflowMutation) {
	if m != nil {
		p.expectRun(m.ExecutionState.GetRunId(), m.DBRecordVersion, m.Condition)
	}
}

func (p *plan) expectSnapshot(s *persistence.InternalWorkflowSnapshot) {
	p.expectRun(s.ExecutionState.GetRunId(), s.DBRecordVersion, s.Condition)
}

func (p *plan) expectCurrent(run string) {
	if id := runOf(run); id != nil {
		p.current = expectedCurrent{known: true, run: id}
	}
}

func (p *plan) expectOther(run string) {
	if id := runOf(run); id != nil {
		p.current = expectedCurrent{known: true, not: id}
	}
}

func foreseeCreate(request *persistence.InternalCreateWorkflowExecutionRequest) *plan {
	p := &plan{shard: &request.RangeID}
	switch request.Mode {
	case persistence.CreateWorkflowModeBrandNew:
		p.current.known = true // none
	case persistence.CreateWorkflowModeUpdateCurrent:
		p.expectCurrent(request.PreviousRunID)
		p.current.ended = true
		p.current.lastWriteVersion = request.PreviousLastWriteVersion
	case persistence.CreateWorkflowModeBypassCurrent:
		p.expectOther(request.NewWorkflowSnapshot.ExecutionState.GetRunId())
	}
	return p
}

func foreseeUpdate(request *persistence.InternalUpdateWorkflowExecutionRequest) *plan {
	p := &plan{shard: &request.RangeID}
	m := &request.UpdateWorkflowMutation
	p.expectMutation(m)
	switch request.Mode {
	case persistence.UpdateWorkflowModeUpdateCurrent:
		p.expectCurrent(m.ExecutionState.GetRunId())
	case persistence.UpdateWorkflowModeBypassCurrent:
		p.expectOther(m.ExecutionState.GetRunId())
	}
	return p
}

func foreseeConflictResolve(request *persistence.InternalConflictResolveWorkflowExecutionRequest) *plan {
	p := &plan{shard: &request.RangeID}
	reset := &request.ResetWorkflowSnapshot
	p.expectSnapshot(reset)
	p.expectMutation(request.CurrentWorkflowMutation)
	current := reset.ExecutionState.GetRunId()
	switch request.Mode {
	case persistence.ConflictResolveWorkflowModeUpdateCurrent:
		if request.CurrentWorkflowMutation != nil {
			current = request.CurrentWorkflowMutation.ExecutionState.GetRunId()
		}
		p.expectCurrent(current)
	case persistence.ConflictResolveWorkflowModeBypassCurrent:
		p.expectOther(current)
	}
	return p
}

func foreseeSet(request *persistence.InternalSetWorkflowExecutionRequest) *plan {
	p := &plan{shard: &request.RangeID}
	p.expectSnapshot(&request.SetWorkflowSnapshot)
	return p
}

// stateReads are the selects of a mutable state.
var stateReads = []C.int{
	C.DSQL_OP_SelectFromExecutions, C.DSQL_OP_SelectAllFromActivityInfoMaps, C.DSQL_OP_SelectAllFromTimerInfoMaps,
	C.DSQL_OP_SelectAllFromChildExecutionInfoMaps, C.DSQL_OP_SelectAllFromRequestCancelInfoMaps,
	C.DSQL_OP_SelectAllFromSignalInfoMaps, C.DSQL_OP_SelectFromBufferedEvents, C.DSQL_OP_SelectAllFromChasmNodeMaps,
	C.DSQL_OP_SelectAllFromSignalsRequestedSets,
}

type getExecution = func(context.Context, *persistence.GetWorkflowExecutionRequest) (*persistence.InternalGetWorkflowExecutionResponse, error)

// readState reads a mutable state with one script, and has the store put it together.
func readState(ctx context.Context, e *engine, run getExecution, request *persistence.GetWorkflowExecutionRequest) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	namespace, runID := runOf(request.NamespaceID), runOf(request.RunID)
	if namespace == nil || runID == nil {
		return run(ctx, request)
	}
	p := &plan{reads: map[C.int]answer{}}
	p.of.SelectFromExecutions(request.ShardID, namespace, request.WorkflowID, runID)
	calls := make([]planned, len(stateReads))
	for i, op := range stateReads {
		calls[i] = planned{op: op, in: p.of}
	}
	got, failed, err := e.script(ctx, "GetWorkflowExecution", calls, reads)
	if failed != nil {
		err = outward(ctx, failed)
	}
	if err != nil {
		return nil, serviceerror.NewUnavailablef("GetWorkflowExecution: failed. Error: %v", err)
	}
	for i, op := range stateReads {
		p.reads[op] = got[i]
	}
	state, err := run(withPlan(ctx, p), request)
	if p.unforeseen {
		return run(ctx, request)
	}
	return state, err
}
