package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
)

// A rehearsal is an operation without a plan that changes nothing. A script that was refused has applied nothing, and
// the operation is run once more for Temporal's own error. But Temporal's stores write history in transactions of its
// own before they look at anything: the events of a run that was not created would stay for ever, since nobody knows of
// it. So the operation is rehearsed first: history is taken to be written, the rest is asked and sent, and rolled back
// where it would be committed. What a rehearsal finds is the outcome; only if it finds nothing, the operation is run.
type rehearsal struct {
	reached bool // what would be committed was accepted
}

var errRehearsed = errors.New("dsql: a rehearsal")

type rehearsalKey struct{}

func rehearsalOf(ctx context.Context) *rehearsal {
	r, _ := ctx.Value(rehearsalKey{}).(*rehearsal)
	return r
}

// rehearsed gives the operation's error, or false if it would be carried out.
func rehearsed[Q, A any](ctx context.Context, operation string, run func(context.Context, Q) (A, error), request Q) (A, error, bool) {
	r := &rehearsal{}
	got, err := retried(context.WithValue(ctx, rehearsalKey{}, r), operation, run, request)
	return got, err, err != nil && !r.reached
}

func (p *plan) writesHistory() bool {
	for i := range p.steps {
		if isHistory(&p.steps[i]) {
			return true
		}
	}
	return false
}

// skips tells whether a call is taken to have succeeded.
func (r *rehearsal) skips(op C.int) bool {
	return r != nil && (op == C.DSQL_OP_InsertIntoHistoryNode || op == C.DSQL_OP_InsertIntoHistoryTree)
}
