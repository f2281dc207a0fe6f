// temporal-check runs workflows against a Temporal server and looks at every result and, when all are over,
// at the whole history of every run: each workflow must complete, once, with the right answer, and with no
// event lost or doubled, and visibility must list every run as its history has it. Errors of the server on the
// way are retried: it may be killed and started again meanwhile.
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

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

const (
	queue     = "check"
	namespace = "default"
)

type options struct {
	address, prefix, only string
	count, at             int
	limit                 time.Duration
	audit, unaudited      bool
	attributes, delete    bool
}

type checker struct {
	options
	client        client.Client
	retries       atomic.Int64
	runs, events  atomic.Int64
	latencies     []time.Duration
	latenciesLock sync.Mutex
	visibleBy     time.Time // when visibility must have everything
}

// until repeats what fails on the server's side. What it gives back is final.
func (c *checker) until(ctx context.Context, try func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := try(attempt)
		cancel()
		var final *wrong
		var lost *serviceerror.DataLoss
		if err == nil || errors.As(err, &final) || errors.As(err, &lost) || ctx.Err() != nil {
			return err
		}
		c.retries.Add(1)
		time.Sleep(200 * time.Millisecond)
	}
}

// nameOf gives the kind and the id of workflow number n.
func (c *checker) nameOf(n int) (kind, id string) {
	kind = c.only
	if kind == "" {
		kind = kinds[n%len(kinds)]
	}
	return kind, fmt.Sprintf("%s-%s-%d", c.prefix, kind, n)
}

// poke sends what a workflow of this kind waits for. The request id makes the server take it once, however
// often it is sent.
func (c *checker) poke(ctx context.Context, kind, id string) error {
	service, execution := c.client.WorkflowService(), &commonpb.WorkflowExecution{WorkflowId: id}
	switch kind {
	case "signal":
		input, err := converter.GetDefaultDataConverter().ToPayloads(expected(kind, id))
		if err != nil {
			return err
		}
		_, err = service.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: execution, SignalName: "go", Input: input, RequestId: id,
		})
		return err
	case "cancel":
		_, err := service.RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: execution, RequestId: id,
		})
		return err
	}
	return nil
}

func (c *checker) run(ctx context.Context, n int) error {
	kind, id := c.nameOf(n)
	began := time.Now()
	start := client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if c.attributes {
		start.TypedSearchAttributes = temporal.NewSearchAttributes(attributesAt(id, -1, "started")...)
	}
	err := c.until(ctx, func(ctx context.Context) error {
		_, err := c.client.ExecuteWorkflow(ctx, start, Check, kind, 0)
		var already *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &already) { // by an attempt whose answer was lost
			return nil
		}
		return err
	})
	if err == nil {
		err = c.until(ctx, func(ctx context.Context) error {
			err := c.poke(ctx, kind, id)
			var gone *serviceerror.NotFound
			if errors.As(err, &gone) { // it is over: an earlier attempt got through
				return nil
			}
			return err
		})
	}
	if err == nil {
		err = c.until(ctx, func(ctx context.Context) error {
			var answer string
			if err := c.client.GetWorkflow(ctx, id, "").Get(ctx, &answer); err != nil {
				var failed *temporal.WorkflowExecutionError
				if errors.As(err, &failed) {
					return found("failed: %v", err)
				}
				return err
			}
			if answer != expected(kind, id) {
				return found("answered %q", answer)
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	took := time.Since(began)
	c.latenciesLock.Lock()
	c.latencies = append(c.latencies, took)
	c.latenciesLock.Unlock()
	return nil
}

// inspect audits a workflow that is over, and its child if it has one.
func (c *checker) inspect(ctx context.Context, n int) error {
	kind, id := c.nameOf(n)
	if err := c.inspectChain(ctx, kind, id); err != nil {
		return err
	}
	if kind == "child" {
		return c.inspectChain(ctx, "activity", id+"-child")
	}
	return nil
}

func (c *checker) inspectChain(ctx context.Context, kind, id string) error {
	var all chain
	err := c.until(ctx, func(ctx context.Context) (err error) {
		if all, err = c.fetch(ctx, id); err == nil {
			err = c.compare(ctx, id, all)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	if err := auditChain(all, kind, id); err != nil {
		return err
	}
	if err := c.visible(ctx, id, all); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	c.runs.Add(int64(len(all.runs)))
	for _, events := range all.events {
		c.events.Add(int64(len(events)))
	}
	return nil
}

// fetch reads every run of a workflow id, from the first one on.
func (c *checker) fetch(ctx context.Context, id string) (all chain, err error) {
	current, err := c.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return all, err
	}
	info := current.GetWorkflowExecutionInfo()
	for run := info.GetFirstRunId(); run != ""; {
		all.runs = append(all.runs, run)
		all.events = append(all.events, nil)
		events := &all.events[len(all.events)-1]
		pages := c.client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for pages.HasNext() {
			event, err := pages.Next()
			if err != nil {
				return all, err
			}
			*events = append(*events, event)
		}
		if len(*events) == 0 || len(all.runs) > 10 {
			return all, found("run %d (%s) has %d events", len(all.runs), run, len(*events))
		}
		run = (*events)[len(*events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	if last := all.runs[len(all.runs)-1]; last != info.GetExecution().GetRunId() {
		return all, found("the last run of the chain is %s, the current one %s", last, info.GetExecution().GetRunId())
	}
	return all, nil
}

// statusOf is how run n of so many has ended.
func statusOf(n, runs int) enumspb.WorkflowExecutionStatus {
	if n < runs-1 {
		return enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
	}
	return enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}

// compare holds the histories against what the server's mutable state says of each run.
func (c *checker) compare(ctx context.Context, id string, all chain) error {
	for n, run := range all.runs {
		state, err := c.client.DescribeWorkflowExecution(ctx, id, run)
		if err != nil {
			return err
		}
		info, status := state.GetWorkflowExecutionInfo(), statusOf(n, len(all.runs))
		open := len(state.GetPendingActivities()) + len(state.GetPendingChildren())
		if info.GetStatus() != status || info.GetHistoryLength() != int64(len(all.events[n])) || open != 0 ||
			state.GetPendingWorkflowTask() != nil {
			return found("run %s is %s with %d events and %d open things; its history has %d events", run,
				info.GetStatus(), info.GetHistoryLength(), open, len(all.events[n]))
		}
	}
	return nil
}

// each runs work for every workflow, some at once, and counts those that fail.
func (c *checker) each(ctx context.Context, work func(context.Context, int) error) int {
	var workers sync.WaitGroup
	var bad atomic.Int64
	numbers := make(chan int)
	for range c.at {
		workers.Go(func() {
			for n := range numbers {
				if err := work(ctx, n); err != nil {
					bad.Add(1)
					fmt.Fprintf(os.Stderr, "temporal-check: %v\n", err)
				}
			}
		})
	}
	for n := range c.count {
		numbers <- n
	}
	close(numbers)
	workers.Wait()
	return int(bad.Load())
}

func (c *checker) work(ctx context.Context) error {
	w := worker.New(c.client, queue, worker.Options{})
	w.RegisterWorkflow(Check)
	w.RegisterActivity(Echo)
	if err := c.until(ctx, func(context.Context) error { return w.Start() }); err != nil {
		return err
	}
	defer w.Stop()
	began := time.Now()
	if bad := c.each(ctx, c.run); bad > 0 {
		return fmt.Errorf("%d of %d workflows did not complete as they should", bad, c.count)
	}
	took := time.Since(began).Seconds()
	slices.Sort(c.latencies)
	fmt.Printf("%d workflows completed in %.1f s: %.1f a second, p50 %d ms, p99 %d ms, %d retries\n", c.count,
		took, float64(c.count)/took, c.latencies[c.count/2].Milliseconds(),
		c.latencies[c.count*99/100].Milliseconds(), c.retries.Load())
	return nil
}

func check(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	c := &checker{options: o}
	quiet := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	err := c.until(ctx, func(ctx context.Context) (err error) {
		c.client, err = client.DialContext(ctx, client.Options{HostPort: o.address, Namespace: namespace, Logger: quiet})
		return err
	})
	if err != nil {
		return err
	}
	defer c.client.Close()
	if o.attributes {
		if err := c.register(ctx); err != nil {
			return err
		}
	}
	if o.delete {
		if bad := c.each(ctx, c.remove); bad > 0 {
			return fmt.Errorf("%d of %d workflows are not deleted", bad, c.count)
		}
		fmt.Printf("%d workflows deleted\n", c.count)
		return nil
	}
	if !o.audit {
		if err := c.work(ctx); err != nil {
			return err
		}
	}
	if o.unaudited {
		return nil
	}
	c.visibleBy = time.Now().Add(5 * time.Minute)
	if bad := c.each(ctx, c.inspect); bad > 0 {
		return fmt.Errorf("the histories of %d of %d workflows are not as they should be", bad, c.count)
	}
	fmt.Printf("%d workflows, %d runs, %d events: each exactly once\n", c.count, c.runs.Load(), c.events.Load())
	return nil
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:7233", "the frontend")
	flag.StringVar(&o.prefix, "prefix", fmt.Sprintf("check-%d", time.Now().UnixNano()), "what the workflows' ids begin with")
	flag.IntVar(&o.count, "count", len(kinds), "how many workflows")
	flag.IntVar(&o.at, "at", 50, "how many at once")
	flag.StringVar(&o.only, "kind", "", "only this kind: activity, retry, timer, signal, child, again, cancel")
	flag.DurationVar(&o.limit, "limit", 2*time.Minute, "how long they may take together")
	flag.BoolVar(&o.audit, "audit", false, "run nothing: look once more at the histories of an earlier call with this prefix")
	flag.BoolVar(&o.attributes, "attributes", false, "the workflows have search attributes, and change them")
	flag.BoolVar(&o.delete, "delete", false, "run nothing: delete the workflows of an earlier call with this prefix")
	flag.BoolVar(&o.unaudited, "unaudited", false, "look at the results only, not at the histories: to measure")
	flag.Parse()
	if err := check(o); err != nil {
		fmt.Fprintf(os.Stderr, "temporal-check: %v\n", err)
		os.Exit(1)
	}
}
