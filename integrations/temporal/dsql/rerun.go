package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"time"
)

// rerun runs an operation of a store, and runs it again when one of its transactions met a conflict
// (SQLSTATE 40001) and libdsql's policy says so. Nothing else is repeated. Temporal's stores build
// their rows anew in each run, and what an operation commits before its last transaction (history
// nodes) may be written twice.
//
// A conflict whose retries are used up and a connection lost before COMMIT are ResourceExhausted, of which Temporal
// knows that nothing was applied.
//
// What the database refuses for what it is gets an error that Temporal does not repeat: see refusal.
//
// A commit that was not answered is a timeout: see unknownOutcome.
func rerun[Q, A any](ctx context.Context, e *engine, operation string, run func(context.Context, Q) (A, error), request Q) (A, error) {
	return operate(ctx, e, operation, func(ctx context.Context) (A, error) { return retried(ctx, operation, run, request) })
}

// retried is the tries of the operation in the context.
func retried[Q, A any](ctx context.Context, operation string, run func(context.Context, Q) (A, error), request Q) (A, error) {
	for {
		inner, o := withOutcome(ctx)
		got, err := run(inner, request)
		if err == nil {
			return got, nil
		}
		if o.unknown != nil {
			return got, unknownOutcome(operation, o.unknown)
		}
		if o.condition != nil {
			if condition := conditionError(o.condition); condition != nil {
				return got, condition
			}
		}
		if o.conflict == nil && o.spent != nil {
			return got, notApplied(o.spent)
		}
		if o.conflict == nil && o.refused != nil {
			return got, refusal(operation, o.refused)
		}
		if o.conflict == nil {
			return got, err
		}
		decision := C.dsql_operation_next(operationOf(ctx), C.enum_dsql_rc(o.conflict.rc))
		if !decision.again {
			return got, notApplied(o.conflict)
		}
		timer := time.NewTimer(time.Duration(decision.wait_ns))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return got, notApplied(o.conflict)
		}
	}
}

// rerunErr is rerun for operations that answer nothing.
func rerunErr[Q any](ctx context.Context, e *engine, operation string, run func(context.Context, Q) error, request Q) error {
	_, err := rerun(ctx, e, operation, func(ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, run(ctx, request)
	}, request)
	return err
}
