package dsql

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// step has the layout of struct bridge_step.
type step struct {
	op, expects          int32
	first, fields, count int64
}

var _ [unsafe.Sizeof(step{}) - C.sizeof_struct_bridge_step]struct{}

// joined is a script's calls as C gets them: their values behind each other, and one piece of bytes.
func joined(calls []planned) ([]step, args) {
	var steps []step
	var all args
	for i := range calls {
		c := &calls[i]
		if c.gone {
			continue
		}
		s := step{op: int32(c.op), first: int64(len(all.values)), fields: int64(c.in.fields()), count: int64(c.in.rows)}
		base := int64(len(all.bytes))
		for _, v := range c.in.values {
			if v.kind == C.BRIDGE_BYTES {
				v.number += base
			}
			all.values = append(all.values, v)
		}
		all.bytes = append(all.bytes, c.in.bytes...)
		for _, token := range c.expect {
			s.expects = 1
			all.add(token)
		}
		steps = append(steps, s)
	}
	return steps, all
}

// What is asked of a script beyond its outcome.
type wanted int

const (
	nothing wanted = iota
	answers        // in the order of the calls
	reads          // the same, of a script that only reads
)

// script runs calls as one transaction in one round trip.
func (e *engine) script(ctx context.Context, operation string, calls []planned, want wanted) ([]answer, *Error, error) {
	if err := e.use(); err != nil {
		return nil, nil, err
	}
	defer e.release()
	if err := e.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer e.leave()
	w, err := e.wake(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer e.rest(w)

	steps, all := joined(calls)
	var results *C.struct_dsql_result
	readOnly := C.int(0)
	if want == reads {
		readOnly = 1
	}
	if want != nothing {
		results = (*C.struct_dsql_result)(C.calloc(C.size_t(len(steps)), C.sizeof_struct_dsql_result))
		if results == nil {
			return nil, nil, errors.New("dsql: out of memory")
		}
		defer C.free(unsafe.Pointer(results))
	}
	var values *C.struct_bridge_value
	if len(all.values) > 0 {
		values = (*C.struct_bridge_value)(unsafe.Pointer(&all.values[0]))
	}
	all.bytes = append(all.bytes, 0) // there is an address even if nothing was put in
	var cerr C.struct_dsql_err
	rc := C.bridge_script(e.c, cName(operation), operationOf(ctx), (*C.struct_bridge_step)(unsafe.Pointer(&steps[0])), C.size_t(len(steps)),
		values, C.size_t(len(all.values)), unsafe.Pointer(&all.bytes[0]), readOnly, w.handle, limit(ctx), results, &cerr)
	e.heard(rc)
	got := taken(results, len(steps))
	if rc != 0 {
		return nil, newError(operation, rc, &cerr), nil
	}
	return got, nil, nil
}

func taken(results *C.struct_dsql_result, count int) []answer {
	if results == nil {
		return nil
	}
	answers := make([]answer, count)
	for i, r := range unsafe.Slice(results, count) {
		answers[i] = answer{affected: int64(r.affected), rows: int(r.rows)}
		if r.rows > 0 {
			answers[i].data = C.GoBytes(unsafe.Pointer(r.data), C.int(r.len))
		}
		C.dsql_result_fini(&unsafe.Slice(results, count)[i])
	}
	return answers
}

// scripted runs an operation of a store as one script, as its plan says. Where an expectation did not hold, a key
// was there already, or the operation is none that a script can be, it is run without a plan.
func scripted[Q, A any](ctx context.Context, e *engine, operation string, p *plan, run func(context.Context, Q) (A, error), request Q) (A, error) {
	return operate(ctx, e, operation, func(ctx context.Context) (A, error) {
		return runPlan(ctx, e, operation, p, run, request)
	})
}

func runPlan[Q, A any](ctx context.Context, e *engine, operation string, p *plan, run func(context.Context, Q) (A, error), request Q) (A, error) {
	var none A
	got, err := run(withPlan(ctx, p), request)
	if err != nil || p.unforeseen || len(p.steps) == 0 {
		return retried(ctx, operation, run, request)
	}
	failed, err := p.send(ctx, e, operation)
	switch {
	case err != nil:
		return none, unsent(operation, err)
	case failed == nil:
		return got, nil
	case failed.is(rcConditionFailed), failed.is(C.DSQL_DUPLICATE), failed.is(C.DSQL_INVALID):
		if p.writesHistory() {
			if got, err, over := rehearsed(ctx, operation, run, request); over {
				return got, err
			}
		}
		return retried(ctx, operation, run, request)
	}
	return none, scriptError(operation, failed)
}

// send runs the plan, as one script if it fits a transaction. Where the service finds that it does not, history goes
// before.
func (p *plan) send(ctx context.Context, e *engine, operation string) (*Error, error) {
	scripts, failed := p.scripts(operation)
	if failed != nil {
		return failed, nil
	}
	failed, err := p.sendAll(ctx, e, operation, scripts)
	if err != nil || failed == nil || !failed.is(rcTooLarge) || len(scripts) > 1 {
		return failed, err
	}
	if scripts = p.apart(); len(scripts) == 1 {
		return failed, nil
	}
	return p.sendAll(ctx, e, operation, scripts)
}

func (p *plan) sendAll(ctx context.Context, e *engine, operation string, scripts [][]planned) (*Error, error) {
	want := nothing
	if p.counts {
		want = answers
	}
	for _, steps := range scripts {
		if len(steps) == 0 {
			continue
		}
		results, failed, err := e.script(ctx, operation, steps, want)
		if failed != nil && C.dsql_rc_class(C.enum_dsql_rc(failed.rc)) == C.DSQL_CLASS_UNKNOWN {
			failed = p.settle(ctx, e, operation, steps, failed)
		}
		if err != nil || failed != nil && !failed.is(C.DSQL_APPLIED) {
			return failed, err
		}
		if n := len(results); n > 0 {
			p.changed = results[n-1].affected
		}
	}
	return nil, nil
}

func scriptedErr[Q any](ctx context.Context, e *engine, operation string, p *plan, run func(context.Context, Q) error, request Q) error {
	_, err := scripted(ctx, e, operation, p, func(ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, run(ctx, request)
	}, request)
	return err
}

// scriptError is Temporal's error for a script that did not end well. After anything but the errors it knows to
// mean that nothing was applied it takes the shard anew, which costs more than the failure. Of a script that is said
// whenever COMMIT was not on its way, also when the caller's time was up by then. What will not pass a little later
// either is Unavailable, as in Temporal's own store.
func scriptError(operation string, failed *Error) error {
	switch C.dsql_rc_class(C.enum_dsql_rc(failed.rc)) {
	case C.DSQL_CLASS_UNKNOWN:
		return unknownOutcome(operation, failed)
	case C.DSQL_CLASS_RETRY, C.DSQL_CLASS_BUSY, C.DSQL_CLASS_LOST:
		return notApplied(failed)
	}
	if failed.is(rcCancelled) {
		return notApplied(failed)
	}
	if refused := refusal(operation, failed); refused != nil {
		return refused
	}
	return serviceerror.NewUnavailablef("%v: %v", operation, failed)
}

// unsent is the error of a script that did not even get to C.
func unsent(operation string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return notApplied(fmt.Errorf("dsql: %s: waiting for a connection: %w", operation, err))
	}
	return err
}

func notApplied(failed error) error {
	return &serviceerror.ResourceExhausted{
		Cause:   enumspb.RESOURCE_EXHAUSTED_CAUSE_SYSTEM_OVERLOADED,
		Scope:   enumspb.RESOURCE_EXHAUSTED_SCOPE_SYSTEM,
		Message: failed.Error(),
	}
}
