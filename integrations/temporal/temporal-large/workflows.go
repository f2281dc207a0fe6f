package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// blob is that many bytes that nothing compresses, the same ones each time.
func blob(size int) []byte {
	bytes := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(bytes) // never fails
	return bytes
}

func sameBlob(bytes []byte, size int) error {
	if string(bytes) != string(blob(size)) {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%d bytes came back changed, as %d", size, len(bytes)), "Changed", nil)
	}
	return nil
}

func within(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 1, MaximumAttempts: 5},
	})
}

// Swap takes a blob and gives one.
func Swap(_ context.Context, in []byte, size, out int) ([]byte, error) {
	if err := sameBlob(in, size); err != nil {
		return nil, err
	}
	return blob(out), nil
}

// Beat fails after its heartbeat, and finds the heartbeat's details when it is tried again.
func Beat(ctx context.Context, size int) error {
	if activity.GetInfo(ctx).Attempt == 1 {
		activity.RecordHeartbeat(ctx, blob(size))
		return fmt.Errorf("once more")
	}
	var bytes []byte
	if err := activity.GetHeartbeatDetails(ctx, &bytes); err != nil {
		return err
	}
	return sameBlob(bytes, size)
}

// Nothing does nothing.
func Nothing(context.Context) error { return nil }

// Take is given a blob and gives one.
func Take(_ workflow.Context, in []byte, size, out int) ([]byte, error) {
	return blob(out), sameBlob(in, size)
}

// Each runs count activities in one workflow task, with a blob in and one out.
func Each(ctx workflow.Context, count, in, out int) error {
	futures := make([]workflow.Future, count)
	for i := range futures {
		futures[i] = workflow.ExecuteActivity(within(ctx), Swap, blob(in), in, out)
	}
	for _, future := range futures {
		var bytes []byte
		if err := future.Get(ctx, &bytes); err != nil {
			return err
		}
		if err := sameBlob(bytes, out); err != nil {
			return err
		}
	}
	return nil
}

// Heartbeat has an activity whose heartbeat carries a blob.
func Heartbeat(ctx workflow.Context, size int) error {
	return workflow.ExecuteActivity(within(ctx), Beat, size).Get(ctx, nil)
}

// Hear waits for count signals with a blob each. A first task that lasts makes the server buffer them.
func Hear(ctx workflow.Context, count, size int, busy time.Duration) error {
	err := workflow.SetUpdateHandler(ctx, "swap", func(_ workflow.Context, in []byte) ([]byte, error) { return in, sameBlob(in, size) })
	if err == nil {
		err = workflow.SetQueryHandler(ctx, "swap", func(in []byte) ([]byte, error) { return in, sameBlob(in, size) })
	}
	if err != nil {
		return err
	}
	time.Sleep(busy) //nolint // the worker itself is slow
	for range count {
		var bytes []byte
		workflow.GetSignalChannel(ctx, "hear").Receive(ctx, &bytes)
		if err := sameBlob(bytes, size); err != nil {
			return err
		}
	}
	return nil
}

// Aside has a side effect that yields a blob, and a task behind it.
func Aside(ctx workflow.Context, size int) error {
	var bytes []byte
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return blob(size) }).Get(&bytes); err != nil {
		return err
	}
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return err
	}
	return sameBlob(bytes, size)
}

// Remember changes its memo to a blob, and has a task behind it.
func Remember(ctx workflow.Context, size int) error {
	if err := workflow.UpsertMemo(ctx, map[string]any{"blob": blob(size)}); err != nil {
		return err
	}
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return err
	}
	return workflow.UpsertMemo(ctx, map[string]any{"blob": []byte("small")})
}

// Idle waits until it is told to end.
func Idle(ctx workflow.Context) error {
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
	return nil
}

// Many does count things of a kind in one workflow task.
func Many(ctx workflow.Context, kind string, count int, target string) error {
	futures := make([]workflow.Future, count)
	for i := range futures {
		switch kind {
		case "activities":
			futures[i] = workflow.ExecuteActivity(within(ctx), Nothing)
		case "timers":
			futures[i] = workflow.NewTimer(ctx, time.Duration(1+i%5)*time.Second)
		case "children":
			futures[i] = workflow.ExecuteChildWorkflow(ctx, Leaf)
		case "signals":
			futures[i] = workflow.SignalExternalWorkflow(ctx, target, "", "more", i)
		case "cancels":
			futures[i] = workflow.RequestCancelExternalWorkflow(ctx, target, "")
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

// Grow makes a history of that many bytes: activities with blobs, one after the other.
func Grow(ctx workflow.Context, rounds, size int) error {
	for range rounds {
		var bytes []byte
		if err := workflow.ExecuteActivity(within(ctx), Swap, []byte{}, 0, size).Get(ctx, &bytes); err != nil {
			return err
		}
	}
	return nil
}
