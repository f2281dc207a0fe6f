package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The kinds of workflow, each with what it must answer.
var kinds = []string{"activity", "retry", "timer", "signal", "child", "again", "cancel"}

func expected(kind, id string) string { return kind + ":" + id }

func withOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second},
	})
}

// Echo answers what it is given, after as many failures as asked for.
func Echo(ctx context.Context, text string, failures int) (string, error) {
	if int(activity.GetInfo(ctx).Attempt) <= failures {
		return "", errors.New("not yet")
	}
	return text, nil
}

// Check is one workflow of each kind.
func Check(ctx workflow.Context, kind string, run int) (string, error) {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	answer, failures := expected(kind, id), 0
	if err := upsert(ctx, int64(run), "begun"); err != nil {
		return "", err
	}
	switch kind {
	case "retry":
		failures = 2
	case "timer":
		if err := workflow.Sleep(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	case "signal":
		var heard string
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, &heard)
		answer = heard
	case "child":
		ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id + "-child"})
		if err := workflow.ExecuteChildWorkflow(ctx, Check, "activity", 0).Get(ctx, &answer); err != nil {
			return "", err
		}
		answer = strings.Replace(strings.TrimSuffix(answer, "-child"), "activity:", "child:", 1)
	case "again":
		if run < 2 {
			return "", workflow.NewContinueAsNewError(ctx, Check, kind, run+1)
		}
	case "cancel":
		err := workflow.Sleep(ctx, time.Hour)
		if !temporal.IsCanceledError(err) {
			return "", fmt.Errorf("the sleep ended with %v", err)
		}
		ctx, _ = workflow.NewDisconnectedContext(ctx)
		return finish(ctx, answer, failures)
	}
	return finish(ctx, answer, failures)
}

func finish(ctx workflow.Context, answer string, failures int) (string, error) {
	if err := upsert(ctx, 100, "done"); err != nil {
		return "", err
	}
	var echoed string
	err := workflow.ExecuteActivity(withOptions(ctx), Echo, answer, failures).Get(ctx, &echoed)
	return echoed, err
}
