package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"time"
)

// What became of a script whose COMMIT was not answered. Temporal pays for an unknown outcome with the shard: it is
// acquired anew, and everything on it waits. A connection that the server closes just when a script is on its way is
// enough, and nobody can tell whether it was the first byte or the answer that was lost.
//
// (SE1) A script of executions is applied once at most, however often it is sent: it changes the version of an execution
//      that it expects, or inserts one by its run. Of two such transactions one is refused, the later one because it
//      finds another version, or, if both saw the same, at COMMIT, because the other changed its row. So it may be sent
//      again; if that succeeds, it is applied, and what is still under way can't be.
// (SE2) If it is refused then, it was applied before if and only if the execution stands where it would have brought it
//      while the shard is still at its owner's range: nobody else writes at that range, and the owner waits for this
//      answer. Both are read in one snapshot.
// (SE3) History nodes are upserts: what only appends is sent again until it is answered.
//
// Everything else stays unknown: tasks, whose keys say nothing about their writer, shards and task queues.

// For this long a connection is waited for: where one is lost, others may be.
const (
	settleFor   = 3 * time.Second
	settlePause = 50 * time.Millisecond
)

// settle gives nil if the script was applied after all, and the unknown outcome if nobody knows.
func (p *plan) settle(ctx context.Context, e *engine, operation string, steps []planned, unknown *Error) *Error {
	witness := p.witness(steps)
	if witness == nil && !onlyHistory(steps) {
		return unknown
	}
	ctx, done := context.WithTimeout(ctx, settleFor) // also of one try that nobody answers
	defer done()
	for ; ctx.Err() == nil; time.Sleep(settlePause) {
		_, failed, err := e.script(ctx, operation, steps, nothing)
		if err != nil {
			return unknown
		}
		if failed == nil || failed.is(C.DSQL_APPLIED) {
			C.dsql_operation_settled(operationOf(ctx), witness == nil) // with a witness, none before was applied
			return nil
		}
		switch C.dsql_rc_class(C.enum_dsql_rc(failed.rc)) {
		case C.DSQL_CLASS_UNKNOWN, C.DSQL_CLASS_LOST, C.DSQL_CLASS_BUSY, C.DSQL_CLASS_RETRY:
			continue // it was not applied this time, or nobody knows again
		}
		refused := failed.is(rcConditionFailed) || failed.is(C.DSQL_DUPLICATE)
		if refused && witness != nil && p.stands(ctx, e, operation, witness) {
			C.dsql_operation_settled(operationOf(ctx), true)
			return nil
		}
		return unknown
	}
	return unknown
}

func onlyHistory(steps []planned) bool {
	for i := range steps {
		if !isHistory(&steps[i]) {
			return false
		}
	}
	return true
}

// witness is the step that writes an execution by its version or its run; nil if there is none, or no shard is expected.
func (p *plan) witness(steps []planned) *planned {
	if p.shard == nil {
		return nil
	}
	for i := range steps {
		step := &steps[i]
		if step.op == C.DSQL_OP_InsertIntoExecutions || step.op == C.DSQL_OP_UpdateExecutions && p.changesVersion(step) {
			return step
		}
	}
	return nil
}

// changesVersion tells whether an update expects a version other than the one it writes.
func (p *plan) changesVersion(step *planned) bool {
	before := p.executions[string(step.in.blobAt(keyExecutionRunID))].version
	return before != nil && *before != step.in.values[keyExecutionRunID+1].number
}

// stands tells whether the shard is still at its owner's range and the execution is where the step writes it.
func (p *plan) stands(ctx context.Context, e *engine, operation string, step *planned) bool {
	var shard, key args
	shard.row(C.DSQL_OP_ExpectShard)
	shard.copyField(&step.in, 0)
	shard.add(*p.shard)
	key.row(C.DSQL_OP_SelectFromExecutions)
	for field := range keyExecutionRunID + 1 {
		key.copyField(&step.in, field)
	}
	calls := []planned{{op: C.DSQL_OP_ExpectShard, in: shard}, {op: C.DSQL_OP_SelectFromExecutions, in: key}}
	got, failed, err := e.script(ctx, operation, calls, answers)
	if err != nil || failed != nil || got[1].rows != 1 {
		return false
	}
	there := got[1]
	for field := keyExecutionRunID + 1; field <= keyExecutionRunID+3; field++ { // db_record_version, next_event_id, last_write_version
		if there.i64() != step.in.values[field].number {
			return false
		}
	}
	return string(there.bytes()) == string(step.in.blobAt(keyExecutionRunID+4))
}
