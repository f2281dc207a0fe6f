package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// attempts counts how often something was tried, by workflow: what will be refused each time must be tried once. The
// clock could not tell that from a machine that is busy.
type attempts struct {
	lock    sync.Mutex
	tasks   map[string]int // the highest attempt of a workflow task that a worker was given
	refused map[string]int // calls that were answered with InvalidArgument
	// The longest that the server took to answer a call that asks for something to be written, since it was looked at.
	// Of a case that is refused the refusal was no slower; all that the case did before, such as 50 MB of history, takes
	// longer.
	slowest time.Duration
}

func newAttempts() *attempts {
	return &attempts{tasks: map[string]int{}, refused: map[string]int{}}
}

// watch is a client's interceptor.
func (a *attempts) watch(ctx context.Context, method string, request, reply any, to *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	began := time.Now()
	err := invoke(ctx, method, request, reply, to, o...)
	a.lock.Lock()
	defer a.lock.Unlock()
	if writes(request) {
		a.slowest = max(a.slowest, time.Since(began))
	}
	if task, ok := reply.(*workflowservice.PollWorkflowTaskQueueResponse); ok && err == nil {
		id := task.GetWorkflowExecution().GetWorkflowId()
		a.tasks[id] = max(a.tasks[id], int(task.GetAttempt()))
	}
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](serviceerror.FromStatus(serviceerror.ToStatus(err))); refused {
		switch of := request.(type) {
		case interface{ GetWorkflowId() string }:
			a.refused[of.GetWorkflowId()]++
		case *workflowservice.SignalWorkflowExecutionRequest:
			a.refused[of.GetWorkflowExecution().GetWorkflowId()]++
		}
	}
	return err
}

// writes tells whether a request is one of those that a case has refused.
func writes(request any) bool {
	switch request.(type) {
	case *workflowservice.StartWorkflowExecutionRequest, *workflowservice.SignalWorkflowExecutionRequest,
		*workflowservice.RespondWorkflowTaskCompletedRequest, *workflowservice.RespondWorkflowTaskFailedRequest:
		return true
	}
	return false
}

func (a *attempts) slowestAnswer() time.Duration {
	a.lock.Lock()
	defer a.lock.Unlock()
	slowest := a.slowest
	a.slowest = 0
	return slowest
}

// once says what was tried more than once of these workflows.
func (a *attempts) once(workflows []string) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	var again []error
	for _, id := range workflows {
		if a.tasks[id] > 1 {
			again = append(again, fmt.Errorf("a workflow task of %s was tried %d times", id, a.tasks[id]))
		}
		if a.refused[id] > 1 {
			again = append(again, fmt.Errorf("a call about %s was refused %d times", id, a.refused[id]))
		}
	}
	return errors.Join(again...)
}
