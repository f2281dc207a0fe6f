package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// How a process ends that was told to while its cluster is away or does not answer. Everything that Temporal writes
// while it stops would wait, one call after the other.

// errEnding answers calls that would have to wait for a cluster that is not there, once the process is told to end.
var errEnding = errors.New("dsql: the process is ending and its cluster is not there")

// silence is for how long a call waits for an answer once the process was told to end, if no other call gets one
// either.
const silence = 5 * time.Second

type ending struct {
	life    context.Context // ends when the process is told to end
	endLife context.CancelFunc
	heardAt atomic.Int64 // the last answer after that, in nanoseconds since 1970
	deaf    atomic.Bool  // a call has waited in vain since then
}

func newEnding() *ending {
	e := &ending{}
	e.life, e.endLife = context.WithCancel(context.Background())
	return e
}

// heard notes that the cluster has answered, be it with a refusal.
func (e *ending) heard(rc C.int) {
	if e.life.Err() == nil {
		return
	}
	switch rc {
	case C.DSQL_OK, C.DSQL_NOT_FOUND, C.DSQL_DUPLICATE, C.DSQL_CONFLICT, C.DSQL_CONDITION_FAILED:
		e.heardAt.Store(time.Now().UnixNano())
		e.deaf.Store(false)
	}
}

// hopeless tells whether a call would only hold up the end of the process: it is told to end, and has no connection,
// or none that answers.
func (p *pool) hopeless() bool { return p.life.Err() != nil && (p.deaf.Load() || p.connections() == 0) }

// watchEnd fires the handle once the process is told to end and its call has become hopeless, until the function it
// gives is called.
func (p *pool) watchEnd(w *waker) func() {
	over, done := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(p.life, func() {
		defer close(done)
		since := time.Now()
		for !p.hopeless() {
			last := since
			if heard := time.Unix(0, p.heardAt.Load()); heard.After(last) {
				last = heard
			}
			left := silence - time.Since(last)
			if left <= 0 {
				p.deaf.Store(true)
				continue
			}
			select {
			case <-over:
				return
			case <-time.After(min(left, silence/10)): // connections may end meanwhile
			}
		}
		C.dsql_cancel_fire(w.handle)
	})
	return func() {
		close(over)
		if !stop() {
			<-done
		}
	}
}
