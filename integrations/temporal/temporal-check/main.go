// temporal-check runs workflows against a Temporal server and looks at every result and every history:
// each workflow must complete, once, with the right answer, and with no event lost or doubled. Errors of
// the server on the way are retried: it may be killed and started again meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

const queue = "check"

type checker struct {
	client    client.Client
	prefix    string
	retries   atomic.Int64
	latencies []time.Duration
	sync.Mutex
}

// until repeats what fails on the server's side. What it gives back is final.
func (c *checker) until(ctx context.Context, try func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := try(attempt)
		cancel()
		var final *wrong
		if err == nil || errors.As(err, &final) || ctx.Err() != nil {
			return err
		}
		c.retries.Add(1)
		time.Sleep(200 * time.Millisecond)
	}
}

// wrong is a finding, which no retry mends.
type wrong struct{ text string }

func (w *wrong) Error() string { return w.text }

func found(format string, values ...any) error { return &wrong{fmt.Sprintf(format, values...)} }

func (c *checker) run(ctx context.Context, kind string, number int) error {
	id := fmt.Sprintf("%s-%s-%d", c.prefix, kind, number)
	began := time.Now()
	err := c.until(ctx, func(ctx context.Context) error {
		_, err := c.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, Check, kind, 0)
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &started) { // by an attempt whose answer was lost
			return nil
		}
		return err
	})
	if err == nil {
		err = c.until(ctx, func(ctx context.Context) error {
			var err error
			switch kind {
			case "signal":
				err = c.client.SignalWorkflow(ctx, id, "", "go", expected(kind, id))
			case "cancel":
				err = c.client.CancelWorkflow(ctx, id, "")
			}
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) { // it is over: an earlier attempt got through
				return nil
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	err = c.until(ctx, func(ctx context.Context) error {
		var answer string
		if err := c.client.GetWorkflow(ctx, id, "").Get(ctx, &answer); err != nil {
			var failed *temporal.WorkflowExecutionError
			if errors.As(err, &failed) {
				return found("%s failed: %v", id, err)
			}
			return err
		}
		if answer != expected(kind, id) {
			return found("%s answered %q", id, answer)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	took := time.Since(began)
	c.Lock()
	c.latencies = append(c.latencies, took)
	c.Unlock()
	return c.until(ctx, func(ctx context.Context) error { return c.history(ctx, id) })
}

// history: the events count from 1 without a gap, exactly one of them ends the workflow, and no
// activity was scheduled or completed twice.
func (c *checker) history(ctx context.Context, id string) error {
	events := c.client.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	next, completed, scheduled, finished := int64(1), 0, 0, 0
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		if event.GetEventId() != next {
			return found("%s: event %d where %d should be", id, event.GetEventId(), next)
		}
		next++
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
			completed++
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			scheduled++
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			finished++
		}
	}
	if completed != 1 || scheduled != 1 || finished != 1 {
		return found("%s: %d ends, %d activities scheduled, %d completed", id, completed, scheduled, finished)
	}
	return nil
}

func main() {
	address := flag.String("address", "127.0.0.1:7233", "the frontend")
	count := flag.Int("count", len(kinds), "how many workflows")
	at := flag.Int("at", 50, "how many at once")
	only := flag.String("kind", "", "only this kind: activity, retry, timer, signal, child, again, cancel")
	limit := flag.Duration("limit", 2*time.Minute, "how long they may take together")
	flag.Parse()
	if err := check(*address, *only, *count, *at, *limit); err != nil {
		fmt.Fprintf(os.Stderr, "temporal-check: %v\n", err)
		os.Exit(1)
	}
}

func check(address, only string, count, at int, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := &checker{prefix: fmt.Sprintf("check-%d", time.Now().UnixNano())}
	quiet := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	err := c.until(ctx, func(ctx context.Context) (err error) {
		c.client, err = client.DialContext(ctx, client.Options{HostPort: address, Logger: quiet})
		return err
	})
	if err != nil {
		return err
	}
	defer c.client.Close()
	w := worker.New(c.client, queue, worker.Options{})
	w.RegisterWorkflow(Check)
	w.RegisterActivity(Echo)
	if err := c.until(ctx, func(context.Context) error { return w.Start() }); err != nil {
		return err
	}
	defer w.Stop()
	began := time.Now()
	var work sync.WaitGroup
	numbers, failures := make(chan int), make(chan error, count)
	for range at {
		work.Go(func() {
			for n := range numbers {
				kind := only
				if kind == "" {
					kind = kinds[n%len(kinds)]
				}
				if err := c.run(ctx, kind, n); err != nil {
					failures <- err
				}
			}
		})
	}
	for n := range count {
		numbers <- n
	}
	close(numbers)
	work.Wait()
	took := time.Since(began)
	close(failures)
	bad := len(failures)
	for err := range failures {
		fmt.Fprintf(os.Stderr, "temporal-check: %v\n", err)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d workflows did not complete as they should", bad, count)
	}
	slices.Sort(c.latencies)
	fmt.Printf("%d workflows completed, once each, in %.1f s: %.1f a second, p50 %d ms, p99 %d ms, %d retries\n", count,
		took.Seconds(), float64(count)/took.Seconds(), c.latencies[count/2].Milliseconds(),
		c.latencies[count*99/100].Milliseconds(), c.retries.Load())
	return nil
}
