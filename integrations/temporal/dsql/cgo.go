// Package dsql is Temporal's SQL persistence on Aurora DSQL. It holds neither SQL nor policy: each
// method is one call into libdsql's store, its arguments in the order of the catalogue
// (src/temporal/catalog.txt).
package dsql

/*
#cgo CFLAGS: -I${SRCDIR}/../../../include -I${SRCDIR}/../../../src -I${SRCDIR}/../../../build/generated -D_GNU_SOURCE -std=gnu17 -Wall
#cgo LDFLAGS: ${SRCDIR}/../../../build/libdsql_pages.a ${SRCDIR}/../../../build/libdsql.a -lmicrohttpd -lpq -lcurl -ljansson -lssl -lcrypto -lpthread -lm
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A pool is libdsql's pool and the store on it. A process has one for each cluster, user and database: the
// four services of a server share it. Who uses it holds a reference: each handle until it is closed, each call
// and each transaction until it has ended. The last one to give its reference back closes the pool.
type pool struct {
	key    poolKey
	c      *C.struct_bridge_engine
	refs   atomic.Int64  // once it is 0 it stays 0
	closed chan struct{} // closed after the pool was
	*ending
	// A call in C holds a thread. No more of them enter than there are connections: whoever has to
	// wait does so here, where it costs a goroutine. A transaction keeps its place to its end.
	gate chan struct{}
	// Cancel handles nobody has fired; each is a descriptor.
	cancels chan *C.struct_dsql_cancel
	// When counters of visibility were compacted last, in nanoseconds since 1970.
	compacted atomic.Int64
}

type poolKey struct{ endpoint, user, database string }

// pools are those of the process. One that is being closed stays here until it is, so that its successor
// opens no connection before.
var pools struct {
	sync.Mutex
	open map[poolKey]*pool
}

// acquire takes a reference, unless the pool was already given up.
func (p *pool) acquire() bool {
	for {
		n := p.refs.Load()
		if n == 0 {
			return false
		}
		if p.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (p *pool) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	for len(p.cancels) > 0 {
		C.dsql_cancel_destroy(<-p.cancels)
	}
	C.bridge_close(p.c)
	pools.Lock()
	delete(pools.open, p.key)
	pools.Unlock()
	close(p.closed)
}

// acquirePool gives the process's pool, opened with what is not empty here and the environment otherwise.
// Without maxConns and maxAge the environment decides about them too.
func acquirePool(key poolKey, maxConns int, maxAge time.Duration) (*pool, error) {
	pools.Lock()
	defer pools.Unlock()
	for p := pools.open[key]; p != nil; p = pools.open[key] {
		if p.acquire() {
			return p, nil
		}
		pools.Unlock()
		<-p.closed
		pools.Lock()
	}
	endpoint, user, database := C.CString(key.endpoint), C.CString(key.user), C.CString(key.database)
	defer C.free(unsafe.Pointer(endpoint))
	defer C.free(unsafe.Pointer(user))
	defer C.free(unsafe.Pointer(database))
	p := &pool{key: key, closed: make(chan struct{}), ending: newEnding()}
	var cerr C.struct_dsql_err
	if rc := C.bridge_open(endpoint, user, database, C.int64_t(maxConns), C.int64_t(maxAge), &p.c, &cerr); rc != 0 {
		return nil, newError("open", rc, &cerr)
	}
	p.refs.Store(1)
	p.gate = make(chan struct{}, int(p.c.options.sizing.max_open))
	p.cancels = make(chan *C.struct_dsql_cancel, cap(p.gate))
	if pools.open == nil {
		pools.open = map[poolKey]*pool{}
	}
	pools.open[key] = p
	return p, nil
}

// errClosed answers every use of a handle after its Close.
var errClosed = errors.New("dsql: this handle is closed")

// An engine is a handle on the process's pool. It may be closed any number of times, by any goroutine, while
// others use it: what is under way ends as it would have, and what comes later is refused.
type engine struct {
	*pool
	shut atomic.Bool
}

func openEngine(key poolKey, maxConns int, maxAge time.Duration) (*engine, error) {
	p, err := acquirePool(key, maxConns, maxAge)
	if err != nil {
		return nil, err
	}
	return &engine{pool: p}, nil
}

func (e *engine) close() {
	if !e.shut.Swap(true) {
		e.release()
	}
}

// use takes a reference for a call or a transaction; each needs its release.
func (e *engine) use() error {
	if e.shut.Load() || !e.acquire() {
		return errClosed
	}
	return nil
}

// acquireAll gives every pool of the process; each needs its release.
func acquireAll() []*pool {
	pools.Lock()
	defer pools.Unlock()
	var all []*pool
	for _, p := range pools.open {
		if p.acquire() {
			all = append(all, p)
		}
	}
	return all
}

// connections is how many are open.
func (p *pool) connections() int { return int(C.bridge_connections(p.c)) }

// verifySchema compares the shape of every table with what the statements here were written for: a version
// number says nothing of that.
func (e *engine) verifySchema() error {
	if err := e.use(); err != nil {
		return err
	}
	defer e.release()
	var cerr C.struct_dsql_err
	if rc := C.dsql_store_verify_schema(e.c.store, C.int64_t(30*time.Second), &cerr); rc != 0 {
		return newError("VerifySchema", C.int(rc), &cerr)
	}
	return nil
}

func (e *engine) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.hopeless() {
		return errEnding
	}
	select {
	case e.gate <- struct{}{}:
		return nil
	default:
	}
	told := e.life.Done()
	for {
		select {
		case e.gate <- struct{}{}:
			if e.hopeless() {
				e.leave()
				return errEnding
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
			if e.hopeless() {
				return errEnding
			}
			told = nil // those who are in give up when it has become hopeless, and their places are free
		}
	}
}

func (e *engine) leave() { <-e.gate }

// A waker ends the C call under way when its context does, and when it has become hopeless.
type waker struct {
	handle *C.struct_dsql_cancel
	rest   []func() // each ends one of the watches, and returns when it does nothing any more
}

func (e *engine) wake(ctx context.Context) (*waker, error) {
	w := &waker{}
	select {
	case w.handle = <-e.cancels:
	default:
		var cerr C.struct_dsql_err
		if rc := C.dsql_cancel_new(&w.handle, &cerr); rc != 0 {
			return nil, newError("cancel", C.int(rc), &cerr)
		}
	}
	w.rest = []func(){w.watch(ctx), e.watchEnd(w)}
	return w, nil
}

// watch fires the handle at the end of a context, until the function it gives is called.
func (w *waker) watch(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		C.dsql_cancel_fire(w.handle)
		close(done)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// also lets the end of another context wake the same calls, until the function it gives is called.
func (w *waker) also(ctx context.Context) func() { return w.watch(ctx) }

// rest keeps the handle for the next call, unless it was used up.
func (e *engine) rest(w *waker) {
	for _, rest := range w.rest {
		rest()
	}
	handle := w.handle
	w.handle = nil
	if !C.dsql_cancel_fired(handle) {
		select {
		case e.cancels <- handle:
			return
		default:
		}
	}
	C.dsql_cancel_destroy(handle)
}

// limit is what is left of a context's time, 0 if it has no end.
func limit(ctx context.Context) C.int64_t {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return C.int64_t(max(time.Until(deadline), time.Nanosecond))
}

// call runs one method, in tx or on the pool.
func (e *engine) call(ctx context.Context, tx *txState, a *args) (answer, error) {
	if p := planOf(ctx); p != nil {
		return p.call(a.op, a)
	}
	if rehearsalOf(ctx).skips(a.op) {
		return answer{affected: int64(a.rows)}, nil
	}
	var inTx *C.struct_dsql_store_tx
	var cancel *C.struct_dsql_cancel
	if tx == nil {
		if err := e.use(); err != nil {
			return answer{}, err
		}
		defer e.release()
		if err := e.enter(ctx); err != nil {
			return answer{}, err
		}
		defer e.leave()
		w, err := e.wake(ctx)
		if err != nil {
			return answer{}, err
		}
		defer e.rest(w)
		cancel = w.handle
	} else {
		if err := ctx.Err(); err != nil {
			return answer{}, err
		}
		if tx.c == nil {
			return answer{}, fmt.Errorf("dsql: %s: the transaction is over", opName(a.op))
		}
		if ctx != tx.ctx {
			defer tx.waker.also(ctx)()
		}
		inTx = tx.c
		tx.used = true
	}
	var out C.struct_bridge_answer
	var values *C.struct_bridge_value
	if len(a.values) > 0 {
		values = (*C.struct_bridge_value)(unsafe.Pointer(&a.values[0]))
	}
	a.bytes = append(a.bytes, 0) // there is an address even if nothing was put in
	rc := C.bridge_call(e.c, inTx, operationOf(ctx), a.op, values, C.size_t(a.fields()), C.size_t(a.rows),
		unsafe.Pointer(&a.bytes[0]), cancel, limit(ctx), &out)
	e.heard(rc)
	got := answer{affected: int64(out.result.affected)}
	if rc == 0 && out.result.rows > 0 {
		got.rows = int(out.result.rows)
		got.data = C.GoBytes(unsafe.Pointer(out.result.data), C.int(out.result.len))
	}
	C.dsql_result_fini(&out.result)
	if rc == 0 {
		return got, nil
	}
	err := newError(opName(a.op), rc, &out.err)
	note(ctx, tx != nil, err)
	return got, outward(ctx, err)
}

func opName(op C.int) string { return C.GoString(C.dsql_op_name(C.enum_dsql_op(op))) }

// txState is a transaction of the store.
type txState struct {
	c     *C.struct_dsql_store_tx
	ctx   context.Context
	waker *waker
	used  bool // something was sent in it
}

func (e *engine) begin(ctx context.Context) (*txState, error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	if err := e.enter(ctx); err != nil {
		e.release()
		return nil, err
	}
	w, err := e.wake(ctx)
	if err != nil {
		e.leave()
		e.release()
		return nil, err
	}
	tx := &txState{ctx: ctx, waker: w}
	var cerr C.struct_dsql_err
	if rc := C.bridge_begin(e.c, operationOf(ctx), w.handle, limit(ctx), &tx.c, &cerr); rc != 0 {
		err := newError("BeginTx", rc, &cerr)
		e.rest(w)
		e.leave()
		e.release()
		note(ctx, true, err)
		return nil, outward(ctx, err)
	}
	return tx, nil
}

// rehearse ends a transaction where it would be committed: what waits to be sent is, and all of it is rolled back.
func (e *engine) rehearse(tx *txState, r *rehearsal) error {
	if !tx.used {
		return e.end(tx, false)
	}
	var cerr C.struct_dsql_err
	if rc := C.int(C.dsql_tx_flush(C.dsql_store_tx_of(tx.c), &cerr)); rc != 0 {
		err := newError("Commit", rc, &cerr)
		note(tx.ctx, true, err)
		_ = e.end(tx, false)
		return err
	}
	r.reached = true
	_ = e.end(tx, false)
	return errRehearsed
}

func (e *engine) end(tx *txState, commit bool) error {
	if tx.c == nil {
		return nil // as after a failed commit, which ended it
	}
	var cerr C.struct_dsql_err
	var rc C.int
	if commit {
		rc = C.int(C.dsql_store_commit(tx.c, &cerr))
	} else {
		C.dsql_store_rollback(tx.c)
	}
	tx.c = nil
	if commit {
		e.heard(rc)
	}
	e.rest(tx.waker)
	e.leave()
	e.release()
	if rc == 0 {
		return nil
	}
	err := newError("Commit", rc, &cerr)
	note(tx.ctx, true, err)
	return err
}
