package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Timeouts are short, because the server keeps a task for each until it is over.
func within(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    20 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 1, MaximumAttempts: 5},
	})
}

// Swap takes a block and gives one.
func Swap(_ context.Context, in []byte, wanted, out block) ([]byte, error) {
	if err := wanted.same(in); err != nil {
		return nil, err
	}
	return out.bytes(), nil
}

// Beat fails after its heartbeat, and finds the heartbeat's details when it is tried again.
func Beat(ctx context.Context, b block) error {
	if !activity.HasHeartbeatDetails(ctx) {
		activity.RecordHeartbeat(ctx, b.bytes())
		return fmt.Errorf("once more")
	}
	var bytes []byte
	if err := activity.GetHeartbeatDetails(ctx, &bytes); err != nil {
		return err
	}
	return b.same(bytes)
}

// Nothing does nothing.
func Nothing(context.Context) error { return nil }

// Take is given a block and gives one.
func Take(_ workflow.Context, in []byte, wanted, out block) ([]byte, error) {
	return out.bytes(), wanted.same(in)
}

// Again is given a block, and gives it to its next run, so many times.
func Again(ctx workflow.Context, in []byte, wanted block, times int) error {
	if err := wanted.same(in); err != nil || times == 0 {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, Again, in, wanted, times-1)
}

// Each runs count activities in one workflow task, with a block in and one out.
func Each(ctx workflow.Context, count int, in, out block) error {
	futures := make([]workflow.Future, count)
	for i := range futures {
		futures[i] = workflow.ExecuteActivity(within(ctx), Swap, in.bytes(), in, out)
	}
	for _, future := range futures {
		var bytes []byte
		if err := future.Get(ctx, &bytes); err != nil {
			return err
		}
		if err := out.same(bytes); err != nil {
			return err
		}
	}
	return nil
}

// Heartbeat has an activity whose heartbeat carries a block.
func Heartbeat(ctx workflow.Context, b block) error {
	return workflow.ExecuteActivity(within(ctx), Beat, b).Get(ctx, nil)
}

// Hear waits for count signals with a block each. A first task that lasts makes the server buffer them.
func Hear(ctx workflow.Context, count int, b block, busy time.Duration) error {
	err := workflow.SetUpdateHandler(ctx, "swap", func(_ workflow.Context, in []byte) ([]byte, error) { return in, b.same(in) })
	if err == nil {
		err = workflow.SetQueryHandler(ctx, "swap", func(in []byte) ([]byte, error) { return in, b.same(in) })
	}
	if err != nil {
		return err
	}
	time.Sleep(busy) //nolint // the worker itself is slow
	for range count {
		var bytes []byte
		workflow.GetSignalChannel(ctx, "hear").Receive(ctx, &bytes)
		if err := b.same(bytes); err != nil {
			return err
		}
	}
	return nil
}

// Aside has a side effect that yields a block, and a task behind it.
func Aside(ctx workflow.Context, b block) error {
	var bytes []byte
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return b.bytes() }).Get(&bytes); err != nil {
		return err
	}
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return err
	}
	return b.same(bytes)
}

// Remember changes its memo to a block, and has a task behind it.
func Remember(ctx workflow.Context, b block) error {
	if err := workflow.UpsertMemo(ctx, map[string]any{"block": b.bytes()}); err != nil {
		return err
	}
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return err
	}
	return workflow.UpsertMemo(ctx, map[string]any{"block": []byte("small")})
}

// Find has search attributes of a size, and changes them.
func Find(ctx workflow.Context, size int) error {
	found := workflow.GetTypedSearchAttributes(ctx)
	for _, key := range texts {
		if text, _ := found.GetString(key); len(text) != size/5*5 {
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%s has %d bytes", key.GetName(), len(text)), "Changed", nil)
		}
	}
	return workflow.UpsertTypedSearchAttributes(ctx, texts[0].ValueSet("small"), words[0].ValueUnset())
}

// Idle waits until it is told to end.
func Idle(ctx workflow.Context) error {
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
	return nil
}

// Collect waits for so many signals, and then continues as a new run, which waits for none.
func Collect(ctx workflow.Context, count int, again bool) error {
	for range count {
		workflow.GetSignalChannel(ctx, "more").Receive(ctx, nil)
	}
	if again {
		return workflow.NewContinueAsNewError(ctx, Collect, 0, false)
	}
	return nil
}

// Many does count things of a kind in one workflow task.
func Many(ctx workflow.Context, kind string, count int, target string) error {
	things := map[string]func(i int) workflow.Future{
		"activities": func(int) workflow.Future { return workflow.ExecuteActivity(within(ctx), Nothing) },
		"timers":     func(i int) workflow.Future { return workflow.NewTimer(ctx, time.Duration(1+i%5)*time.Second) },
		"children":   func(int) workflow.Future { return workflow.ExecuteChildWorkflow(ctx, Leaf) },
		"signals":    func(i int) workflow.Future { return workflow.SignalExternalWorkflow(ctx, target, "", "more", i) },
		"cancels":    func(int) workflow.Future { return workflow.RequestCancelExternalWorkflow(ctx, target, "") },
		"waiting":    func(i int) workflow.Future { return workflow.NewTimer(ctx, time.Duration(1+i%5)*time.Minute) },
		"pending": func(int) workflow.Future {
			return workflow.ExecuteActivity(workflow.WithTaskQueue(within(ctx), nobody), Nothing)
		},
	}
	kinds := []string{kind}
	if kind == "together" {
		kinds = []string{"activities", "timers", "children", "signals", "cancels"}
	}
	var futures []workflow.Future
	for _, kind := range kinds {
		for i := range count {
			futures = append(futures, things[kind](i))
		}
	}
	for _, future := range futures {
		if err := future.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// Leaf ends at once.
func Leaf(workflow.Context) error { return nil }

// Stubborn is not impressed by a cancellation.
func Stubborn(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return Idle(ctx)
}

// Grow makes a history of that many blocks: activities that give one, one after the other.
func Grow(ctx workflow.Context, rounds int, b block) error {
	for range rounds {
		var bytes []byte
		if err := workflow.ExecuteActivity(within(ctx), Swap, []byte{}, nothing, b).Get(ctx, &bytes); err != nil {
			return err
		}
	}
	return nil
}
