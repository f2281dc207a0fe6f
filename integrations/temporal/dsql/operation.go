package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"sync"
)

// An operation of Temporal's stores is one operation of libdsql's metrics, under Temporal's name, whatever it is
// made of: a script, transactions, calls on the pool, and their tries. It travels in the context.

type operationKey struct{}

func operationOf(ctx context.Context) *C.struct_dsql_operation {
	o, _ := ctx.Value(operationKey{}).(*C.struct_dsql_operation)
	return o
}

// names are those of the operations as C reads them. There are some eighty, and they stay.
var names sync.Map

func cName(name string) *C.char {
	if known, ok := names.Load(name); ok {
		return known.(*C.char)
	}
	known, _ := names.LoadOrStore(name, C.CString(name))
	return known.(*C.char)
}

// operate runs what an operation does, with the operation in its context.
func operate[A any](ctx context.Context, e *engine, name string, run func(context.Context) (A, error)) (A, error) {
	var none A
	if err := e.use(); err != nil { // the metrics and the policy are the pool's
		return none, err
	}
	defer e.release()
	var o *C.struct_dsql_operation
	var cerr C.struct_dsql_err
	if rc := C.bridge_operation(e.c, cName(name), limit(ctx), &o, &cerr); rc != 0 {
		return none, newError(name, rc, &cerr)
	}
	defer C.dsql_operation_end(o)
	return run(context.WithValue(ctx, operationKey{}, o))
}

// named runs an operation that needs nothing but its name: what it asks, libdsql runs again by itself.
func named[Q, A any](ctx context.Context, e *engine, name string, run func(context.Context, Q) (A, error), request Q) (A, error) {
	return operate(ctx, e, name, func(ctx context.Context) (A, error) { return run(ctx, request) })
}

// namedErr is named for operations that answer nothing.
func namedErr[Q any](ctx context.Context, e *engine, name string, run func(context.Context, Q) error, request Q) error {
	_, err := operate(ctx, e, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx, request) })
	return err
}
