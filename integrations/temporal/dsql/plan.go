package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"strings"

	"go.temporal.io/server/common/primitives"
)

// A plan turns an operation of Temporal's stores into one script of libdsql: one message to the database and
// one back.
//
// Temporal's stores lock a row, compare what they find with what the request expects, and go on. With a plan
// in their context nothing of that is sent. A lock is answered with what the request expects, and the
// expectation goes into the script, where the server raises it; writes go into the script and are taken to
// succeed. What the store does under a plan is therefore what it does when every expectation holds, and the
// server refuses the script when one does not. Then nothing was applied, and the operation is run once more
// without a plan, statement by statement: the store finds out what is there and gives Temporal's own errors.
//
// A plan holds no SQL and decides nothing about retries.
type plan struct {
	shard      *int64                 // the range that the request expects of its shard
	queue      *int64                 // the range that it expects of its task queue
	executions map[string]expectedRun // by run: the executions that it changes
	current    expectedCurrent        // what it expects of the current execution
	reads      map[C.int]answer       // what was read beforehand, of one execution
	of         args                   // that execution
	steps      []planned
	guards     map[C.int]int // where the guard of a lock stands among the steps, by the guard's operation
	unforeseen bool          // the store asked for something that nobody could foresee
	counts     bool          // it matters how many rows the last step changes, which only the script's answer tells
	changed    int64
}

// expectedRun is what an execution must be at before it is changed; nil is any.
type expectedRun struct{ version, nextEvent *int64 }

type expectedCurrent struct {
	known bool
	run   primitives.UUID // the current run; nil: there is none, or it does not matter which
	not   primitives.UUID // the run that is not the current one
	// Of a run that a new one takes over from: it must have ended, with this last write version.
	ended            bool
	lastWriteVersion int64
}

type planned struct {
	op     C.int
	in     args
	expect []any
	gone   bool // a guard whose place a write has taken
}

var errUnforeseen = errors.New("dsql: this can't be foreseen")

type planKey struct{}

func planOf(ctx context.Context) *plan {
	p, _ := ctx.Value(planKey{}).(*plan)
	return p
}

func withPlan(ctx context.Context, p *plan) context.Context {
	return context.WithValue(ctx, planKey{}, p)
}

func (p *plan) stop() (answer, error) {
	p.unforeseen = true
	return answer{}, errUnforeseen
}

// call is one method of a table: a lock, a write, or something that was read beforehand.
func (p *plan) call(op C.int, a *args) (answer, error) {
	switch op {
	case C.DSQL_OP_ReadLockShards, C.DSQL_OP_WriteLockShards:
		return p.lock(C.DSQL_OP_ExpectShard, a, p.shard)
	case C.DSQL_OP_LockTaskQueues:
		return p.lock(C.DSQL_OP_ExpectTaskQueue, a, p.queue)
	case C.DSQL_OP_WriteLockExecutions:
		return p.lockExecution(a)
	case C.DSQL_OP_LockCurrentExecutions, C.DSQL_OP_LockCurrentExecutionsJoinExecutions:
		return p.lockCurrent(op, a)
	}
	if C.dsql_op_columns(C.enum_dsql_op(op)) > 0 {
		return p.read(op, a)
	}
	return p.write(op, a)
}

// lock answers with the token that is expected, and has the script expect it.
func (p *plan) lock(guard C.int, a *args, token *int64) (answer, error) {
	if token == nil {
		return p.stop()
	}
	p.guard(guard, a, *token)
	return answerOf(*token), nil
}

func (p *plan) guard(op C.int, key *args, expected ...any) {
	step := planned{op: op, in: key.copied()}
	for _, value := range expected {
		step.in.add(value)
	}
	if p.guards == nil {
		p.guards = map[C.int]int{}
	}
	p.guards[op] = len(p.steps)
	p.add(step)
}

func (p *plan) lockExecution(a *args) (answer, error) {
	expected, ok := p.executions[string(a.blobAt(keyExecutionRunID))]
	if !ok {
		return p.stop()
	}
	var version, next int64
	if expected.version != nil {
		version = *expected.version
	}
	if expected.nextEvent != nil {
		next = *expected.nextEvent
	}
	return answerOf(version, next), nil
}

// noRow is what a lock answers that found none: the joined one returns many.
func noRow(op C.int) (answer, error) {
	if op == C.DSQL_OP_LockCurrentExecutionsJoinExecutions {
		return answer{}, nil
	}
	return answer{}, sql.ErrNoRows
}

func (p *plan) lockCurrent(op C.int, a *args) (answer, error) {
	c := p.current
	switch {
	case !c.known:
		return p.stop()
	case c.not != nil:
		p.guard(C.DSQL_OP_ExpectOtherCurrentExecution, a, c.not)
		return noRow(op)
	case c.run == nil: // the INSERT that follows meets it if there is one
		return noRow(op)
	case !c.ended: // the UPDATE that follows expects it
		return answerOf(c.run, "", int64(0), int64(0), nil, int64(0), nil, nil), nil
	}
	p.guard(C.DSQL_OP_ExpectCurrentExecution, a, c.run, completed)
	execution := a.copied()
	execution.values = execution.values[:keyCurrentArchetypeID] // shard, namespace, workflow
	p.guard(C.DSQL_OP_ExpectLastWriteVersion, &execution, c.run, c.lastWriteVersion)
	return answerOf(c.run, "", completed, int64(0), nil, c.lastWriteVersion, nil, nil), nil
}

// write takes a write into the script. One of a row that was locked expects the token instead of the lock.
func (p *plan) write(op C.int, a *args) (answer, error) {
	step := planned{op: op, in: a.copied()}
	switch op {
	case C.DSQL_OP_UpdateShards:
		if !p.instead(C.DSQL_OP_ExpectShard) {
			return p.stop()
		}
		step.expect = []any{*p.shard}
	case C.DSQL_OP_UpdateTaskQueues:
		if !p.instead(C.DSQL_OP_ExpectTaskQueue) {
			return p.stop()
		}
		step.expect = []any{*p.queue}
	case C.DSQL_OP_UpdateExecutions:
		expected, ok := p.executions[string(a.blobAt(keyExecutionRunID))]
		if !ok {
			return p.stop()
		}
		step.expect = []any{expected.version, expected.nextEvent}
	case C.DSQL_OP_UpdateCurrentExecutions:
		if p.current.run == nil {
			return p.stop()
		}
		step.expect = []any{p.current.run}
	}
	p.keep(&step)
	p.add(step)
	if strings.Contains(opName(op), "Delete") && !p.counts {
		return answer{affected: -1}, nil // nobody knows yet
	}
	return answer{affected: int64(a.rows)}, nil
}

// How a snapshot replaces a map: Temporal's store deletes all entries and inserts the new ones, which changes each row
// that stays twice, and the service counts changes.
var maps = map[C.int]struct{ clear, keep C.int }{
	C.DSQL_OP_ReplaceIntoActivityInfoMaps:       {C.DSQL_OP_DeleteAllFromActivityInfoMaps, C.DSQL_OP_KeepInActivityInfoMaps},
	C.DSQL_OP_ReplaceIntoTimerInfoMaps:          {C.DSQL_OP_DeleteAllFromTimerInfoMaps, C.DSQL_OP_KeepInTimerInfoMaps},
	C.DSQL_OP_ReplaceIntoChildExecutionInfoMaps: {C.DSQL_OP_DeleteAllFromChildExecutionInfoMaps, C.DSQL_OP_KeepInChildExecutionInfoMaps},
	C.DSQL_OP_ReplaceIntoRequestCancelInfoMaps:  {C.DSQL_OP_DeleteAllFromRequestCancelInfoMaps, C.DSQL_OP_KeepInRequestCancelInfoMaps},
	C.DSQL_OP_ReplaceIntoSignalInfoMaps:         {C.DSQL_OP_DeleteAllFromSignalInfoMaps, C.DSQL_OP_KeepInSignalInfoMaps},
	C.DSQL_OP_ReplaceIntoSignalsRequestedSets:   {C.DSQL_OP_DeleteAllFromSignalsRequestedSets, C.DSQL_OP_KeepInSignalsRequestedSets},
	C.DSQL_OP_ReplaceIntoChasmNodeMaps:          {C.DSQL_OP_DeleteAllFromChasmNodeMaps, C.DSQL_OP_KeepInChasmNodeMaps},
}

// keep has the deletion of a map, if that is what comes before its entries are written, spare those.
func (p *plan) keep(entries *planned) {
	of, ok := maps[entries.op]
	if !ok || entries.in.rows == 0 {
		return
	}
	for i := range p.steps {
		step := &p.steps[i]
		if step.op != of.clear || !entries.in.begins(&step.in) {
			continue
		}
		key := len(step.in.values) // stands behind the execution
		spared := args{op: of.keep}
		for row := range entries.in.rows {
			spared.rows++
			for field := range key + 1 {
				spared.copyField(&entries.in, row*entries.in.fields()+field)
			}
		}
		step.op, step.in = of.keep, spared
		return
	}
}

// instead drops the guard of a row that is written next; false if there is none.
func (p *plan) instead(guard C.int) bool {
	at, ok := p.guards[guard]
	if ok {
		p.steps[at].gone = true
	}
	return ok
}

func (p *plan) add(step planned) {
	p.steps = append(p.steps, step)
}

// read answers what was read beforehand.
func (p *plan) read(op C.int, a *args) (answer, error) {
	got, ok := p.reads[op]
	if !ok || !a.equal(&p.of) {
		return p.stop()
	}
	if op == C.DSQL_OP_SelectFromExecutions && got.rows == 0 {
		return got, sql.ErrNoRows
	}
	return got, nil
}

// answerOf is a row as libdsql would have answered it.
func answerOf(columns ...any) answer {
	a := answer{affected: 1, rows: 1}
	put := func(field []byte) {
		a.data = binary.NativeEndian.AppendUint32(a.data, uint32(int32(len(field))))
		a.data = append(a.data, field...)
	}
	for _, column := range columns {
		switch v := column.(type) {
		case nil:
			a.data = binary.NativeEndian.AppendUint32(a.data, ^uint32(0))
		case int64:
			put(binary.NativeEndian.AppendUint64(nil, uint64(v)))
		case string:
			put([]byte(v))
		case primitives.UUID:
			put(v)
		}
	}
	return a
}

// blobAt is the bytes of a field.
func (a *args) blobAt(field int) []byte {
	v := a.values[field]
	if v.kind != C.BRIDGE_BYTES {
		return nil
	}
	return a.bytes[v.number : v.number+int64(v.len)]
}

// copyField adds a field of other arguments.
func (a *args) copyField(from *args, field int) {
	v := from.values[field]
	if v.kind == C.BRIDGE_BYTES {
		a.blob(from.blobAt(field))
		return
	}
	a.values = append(a.values, v)
}

// begins tells whether each row begins with what the other arguments, which are one row, are.
func (a *args) begins(with *args) bool {
	for i := range a.values {
		field := i % a.fields()
		if field >= len(with.values) {
			continue
		}
		one, other := a.values[i], with.values[field]
		if one.kind != other.kind || !bytes.Equal(a.blobAt(i), with.blobAt(field)) {
			return false
		}
		if one.kind != C.BRIDGE_BYTES && one.number != other.number {
			return false
		}
	}
	return true
}

func (a *args) copied() args {
	return args{op: a.op, values: append([]value(nil), a.values...), bytes: append([]byte(nil), a.bytes...), rows: a.rows}
}

func (a *args) equal(b *args) bool {
	if len(a.values) != len(b.values) || !bytes.Equal(a.bytes, b.bytes) {
		return false
	}
	for i := range a.values {
		if a.values[i] != b.values[i] {
			return false
		}
	}
	return true
}
