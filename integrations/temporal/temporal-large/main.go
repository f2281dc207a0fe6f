// temporal-large runs workflows with what Temporal allows and databases seldom see: payloads of up to 2 MB wherever
// one can be, thousands of things in one workflow task, thousands of signals, a history of 50 MB, what people do to
// such workflows afterwards, and what is refused. One line for each case: its name, how it ended and how long it
// took, and of a refused one the longest that the server took to answer; with --json one object. With --delete all runs are terminated and deleted at the end. With --scan Temporal's
// scanner of history is run instead, which a server with the worker service has.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

const queue = "large"

// testCase is one line of the table. What Temporal itself refuses is refused on every store; what only this store
// refuses is documented.
type testCase struct {
	name    string
	refused string // what the error says, on every store; empty if the case ends well
	here    string // the same, on this store only
	run     func(context.Context) error
}

// outcome is how a case ended.
type outcome struct {
	Case    string  `json:"case"`
	Ended   string  `json:"ended"` // "ok", "refused: ..." or what went wrong
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
	Refusal float64 `json:"refusal,omitempty"` // the longest that one answer of a refused case took
}

type options struct {
	address, prefix, namespace string
	only                       *regexp.Regexp
	many, signals              int
	limit, retention, task     time.Duration
	stock, json, clean, lossy  bool
}

type tester struct {
	client.Client
	options
	tried   *attempts
	lock    sync.Mutex
	current string   // name of the case
	started []string // ids of its workflows
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:7233", "frontend")
	flag.StringVar(&o.prefix, "prefix", "large", "of workflow ids")
	flag.StringVar(&o.namespace, "namespace", "large", "is registered if it is not there")
	flag.IntVar(&o.many, "many", 2000, "things in the cases with many")
	flag.IntVar(&o.signals, "signals", 10000, "signals in the cases with signals from outside")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "time for each case")
	flag.DurationVar(&o.retention, "retention", 24*time.Hour, "of the namespace, when it is registered")
	flag.DurationVar(&o.task, "task", 2*time.Minute, "time for a workflow task; the server waits for it after an answer that was lost")
	flag.BoolVar(&o.stock, "stock", false, "the server has another store than this one")
	flag.BoolVar(&o.lossy, "lossy", false, "answers are lost: what is refused may be tried more than once")
	flag.BoolVar(&o.json, "json", false, "one JSON object for each case")
	flag.BoolVar(&o.clean, "delete", false, "terminate and delete all runs of the namespace at the end")
	only := flag.String("cases", ".", "regular expression of the names of cases")
	scan := flag.Bool("scan", false, "run Temporal's scanner of history, and nothing else")
	list := flag.Bool("list", false, "print the names of the cases")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	if *list {
		for _, one := range (&tester{options: o}).cases() {
			fmt.Println(one.name)
		}
		return
	}
	if *scan {
		if err := scanHistory(o); err != nil {
			fmt.Fprintln(os.Stderr, "temporal-large: scan:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-large:", err)
		os.Exit(1)
	}
}

var silent = sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

func run(o options) error {
	tried := newAttempts()
	c, err := client.Dial(client.Options{
		HostPort: o.address, Namespace: o.namespace, Logger: silent,
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(tried.watch)}},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	t := &tester{Client: c, options: o, tried: tried}
	if err := t.prepare(); err != nil {
		return fmt.Errorf("namespace %s: %w", o.namespace, err)
	}
	w := t.worker(queue)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	failed := 0
	for _, one := range t.cases() {
		if !o.only.MatchString(one.name) {
			continue
		}
		ended := t.try(one)
		if !ended.Passed {
			failed++
		}
		t.print(ended)
	}
	if o.clean {
		if err := t.removeAll(); err != nil {
			return fmt.Errorf("delete everything: %w", err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

func (t *tester) worker(queue string) worker.Worker {
	w := worker.New(t.Client, queue, worker.Options{DeadlockDetectionTimeout: time.Minute})
	for _, workflow := range []any{Take, Each, Heartbeat, Hear, Aside, Remember, Again, Find, Idle, Many, Leaf, Stubborn, Grow, Collect} {
		w.RegisterWorkflow(workflow)
	}
	for _, activity := range []any{Swap, Beat, Nothing} {
		w.RegisterActivity(activity)
	}
	return w
}

// prepare registers the namespace and its search attributes, and waits until every service knows them.
func (t *tester) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, err := t.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: t.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(t.retention),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); err != nil && !exists {
		return err
	}
	for {
		if err = t.addAttributes(ctx); err == nil {
			_, err = t.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: t.prefix + "-known", TaskQueue: queue, TypedSearchAttributes: attributes(9),
			}, Find, 9)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// try runs a case and compares its end with what it should be.
func (t *tester) try(one testCase) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	t.current, t.started = one.name, nil
	wanted := one.refused
	if one.here != "" && !t.stock {
		wanted = one.here
	}
	began := time.Now()
	t.tried.slowestAnswer() // of the case before
	err := one.run(ctx)
	ended := outcome{Case: one.name, Ended: "ok", Passed: err == nil, Seconds: time.Since(began).Seconds()}
	if err != nil {
		ended.Ended = strings.Join(strings.Fields(fmt.Sprintf("%.400s", err)), " ")
	}
	if wanted != "" {
		ended.Passed = err != nil && strings.Contains(err.Error(), wanted)
		if again := t.tried.once(t.started); again != nil && !t.lossy {
			ended.Passed, ended.Ended = false, ended.Ended+", and not once: "+again.Error()
		} else if ended.Passed {
			ended.Ended, ended.Refusal = "refused: "+wanted, t.tried.slowestAnswer().Seconds()
		} else {
			ended.Ended += ", and not refused: " + wanted
		}
	}
	if !ended.Passed { // what hangs must not disturb the cases behind it
		for _, id := range t.started {
			_ = t.TerminateWorkflow(context.Background(), id, "", "given up")
		}
	}
	return ended
}

func (t *tester) print(o outcome) {
	if t.json {
		line, _ := json.Marshal(o) // strings and numbers
		fmt.Println(string(line))
		return
	}
	mark := " "
	if !o.Passed {
		mark = "!"
	}
	fmt.Printf("%s %-40s %6.1f s  %s%s\n", mark, o.Case, o.Seconds, o.Ended, map[bool]string{true: fmt.Sprintf(" (no answer took longer than %.2f s)", o.Refusal)}[o.Refusal > 0])
}
