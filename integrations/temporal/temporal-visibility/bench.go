package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/manager"
)

// What writes, lists and counts take in two stores that hold the same runs, in turns and in one go.

// soldRuns is how many runs share a value of the keyword, types how many types of workflow there are, and writtenMost how
// many runs are measured as they are written.
const (
	soldRuns    = 500
	types       = 20
	writtenMost = 20_000
)

// producedAt is run number i of a namespace in production: one in twenty is open, the others are closed and most of them
// completed; each has a few attributes.
func producedAt(seed uint64, i int) write {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	w := write{
		kind: closed, namespace: namespaces[0], runID: runID(r), version: int64(i) + 1, workflowID: fmt.Sprintf("order-%d", i),
		typeName: fmt.Sprintf("type-%02d", r.IntN(types)), taskQueue: fmt.Sprintf("queue-%d", r.IntN(10)), memo: []byte("memo of a run"),
		start: origin.Add(time.Duration(i)*100*time.Millisecond + time.Duration(r.IntN(100))*time.Millisecond), types: attributes,
	}
	w.exec, w.root, w.rootRun = w.start, w.workflowID, w.runID
	w.values = map[string]any{
		"Keyword01": fmt.Sprintf("customer-%d", i/soldRuns), "Int01": int64(r.IntN(1000)), "BuildIds": []string{"build-7", "build-8"},
		"Datetime01": w.start.Truncate(time.Second),
	}
	if r.IntN(20) == 0 {
		w.kind, w.status = started, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		return w
	}
	w.status = pick(r, []enumspb.WorkflowExecutionStatus{
		enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
	})
	w.close = w.start.Add(time.Duration(r.IntN(600_000)) * time.Millisecond)
	w.duration, w.length, w.size, w.transitions = w.close.Sub(w.start), 11, 2400, 7
	return w
}

// produce writes runs from..to into a store, some at once. Every run that ends was recorded as started before, but for
// those that are only there to be found.
func produce(o options, s *tried, from, to int, both bool, progress func(int)) (time.Duration, error) {
	var next, done atomic.Int64
	var group sync.WaitGroup
	next.Store(int64(from))
	failures := make(chan error, o.at)
	begin := time.Now()
	for range o.at {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
				w := producedAt(o.seed, i)
				steps := []write{w}
				if both && w.kind == closed {
					first := w
					first.kind, first.status, first.version = started, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 0
					steps = []write{first, w}
				}
				for _, step := range steps {
					ctx, cancel := context.WithTimeout(context.Background(), longest)
					err := step.apply(ctx, s)
					cancel()
					if err != nil {
						failures <- fmt.Errorf("%s: run %d: %w", s.name, i, err)
						return
					}
				}
				progress(int(done.Add(1)))
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
		return time.Since(begin), nil
	}
}

// A question that is measured: the page of a list, or counts by group.
type question struct {
	name  string
	query query
	page  int    // which one of the list
	run   string // a run that is asked for alone: what the way to the database takes by itself
}

func questions(o options) []question {
	middle := producedAt(o.seed, o.runs/2)
	where := func(leaves ...*node) *node {
		if len(leaves) == 1 {
			return leaves[0]
		}
		return &node{join: "AND", kids: leaves}
	}
	is := func(name, value string) *node {
		return &node{name: name, operator: "=", arguments: []string{quoted(value)}}
	}
	after := &node{name: "StartTime", operator: ">=", arguments: []string{quoted(middle.start.Format(time.RFC3339Nano))}}
	all := []question{
		{name: "one run, by its id", run: middle.runID},
		{name: "all"},
		{name: "running", query: query{where: where(is("ExecutionStatus", "Running"))}},
		{name: "a type, failed", query: query{where: where(is("WorkflowType", "type-07"), is("ExecutionStatus", "Failed"))}},
		{name: "a workflow id", query: query{where: where(is("WorkflowId", middle.workflowID))}},
		{name: "a keyword", query: query{where: where(is("Keyword01", fmt.Sprintf("customer-%d", o.runs/soldRuns/2)))}},
		{name: "completed, started since", query: query{where: where(is("ExecutionStatus", "Completed"), after)}},
		{name: "all, page 100", page: min(99, o.runs/benchPage/2)},
		{name: "GROUP BY ExecutionStatus", query: query{groupBy: "ExecutionStatus"}},
		{name: "count of all", query: query{groupBy: "TemporalNamespaceDivision"}},
	}
	for i := range all {
		all[i].query.namespace = namespaces[0]
	}
	return all
}

// benchPage is how long a page is: the Web UI's.
const benchPage = 100

// answer asks once: how long it took, and how much came. The pages before the one that is measured are not.
func (q *question) answer(s *tried, token []byte) (time.Duration, int64, []byte, error) {
	begin := time.Now()
	if q.run != "" {
		_, err := s.GetWorkflowExecution(context.Background(), &manager.GetWorkflowExecutionRequest{
			NamespaceID: namespace.ID(q.query.namespace), RunID: q.run,
		})
		return time.Since(begin), 1, nil, err
	}
	if q.query.groupBy != "" {
		counted, err := q.query.countOn(s)
		if err != nil {
			return 0, 0, nil, err
		}
		return time.Since(begin), counted.Count, nil, nil
	}
	page, err := q.query.pageOn(s, benchPage, token)
	if err != nil {
		return 0, 0, nil, err
	}
	return time.Since(begin), int64(len(page.Executions)), page.NextPageToken, nil
}

// A result is what a question took in a store: the median, and the least, which is what it takes when nobody else is at
// work on the machine.
type result struct{ median, least time.Duration }

// PostgreSQL plans a prepared statement anew for its first five times on each connection. warmAsks is that for all
// connections of a pool; warmTime is for questions of which each takes longer than any planning.
const (
	warmAsks = 150
	warmTime = 2 * time.Second
)

// warm asks until the statements are planned: what is measured is a server that has been up for more than a minute.
func (q *question) warm(stores []*tried, tokens [][]byte) error {
	for i, s := range stores {
		begin := time.Now()
		for asked := 0; asked < warmAsks && time.Since(begin) < warmTime; asked++ {
			if _, _, _, err := q.answer(s, tokens[i]); err != nil {
				return fmt.Errorf("%s: %s: %w", s.name, q.name, err)
			}
		}
	}
	return nil
}

// measure asks the stores in turns. The answers must be as many.
func (q *question) measure(o options, stores []*tried) ([]result, int64, error) {
	tokens := make([][]byte, len(stores))
	for i, s := range stores {
		for range q.page {
			var err error
			if _, _, tokens[i], err = q.answer(s, tokens[i]); err != nil {
				return nil, 0, fmt.Errorf("%s: %s: %w", s.name, q.name, err)
			}
		}
	}
	if err := q.warm(stores, tokens); err != nil {
		return nil, 0, err
	}
	times, counts := make([][]time.Duration, len(stores)), make([]int64, len(stores))
	for range o.rounds {
		for i, s := range stores {
			took, count, _, err := q.answer(s, tokens[i])
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %s: %w", s.name, q.name, err)
			}
			times[i], counts[i] = append(times[i], took), count
		}
	}
	results := make([]result, len(stores))
	for i := range stores {
		slices.Sort(times[i])
		results[i] = result{median: times[i][len(times[i])/2], least: times[i][0]}
	}
	for i := range counts {
		if counts[i] != counts[0] {
			return nil, 0, fmt.Errorf("%s: %d in %s, %d in %s", q.name, counts[0], stores[0].name, counts[i], stores[i].name)
		}
	}
	return results, counts[0], nil
}

// bench fills the first and the last of the stores, and asks all of them: one between is the first by another way.
func bench(out io.Writer, o options, all []*tried) error {
	stores := []*tried{all[0], all[len(all)-1]}
	measured := min(o.runs/10, writtenMost)
	last := o.runs - measured
	_, _ = fmt.Fprintf(out, "seed %d: %d runs, the last %d of them measured as they are written, %d at once\n", o.seed, o.runs, measured, o.at)
	var speed [2]float64
	if !o.kept {
		for _, s := range stores {
			var mutex sync.Mutex
			said := time.Now()
			progress := func(done int) {
				mutex.Lock()
				defer mutex.Unlock()
				if time.Since(said) > 20*time.Second {
					said = time.Now()
					_, _ = fmt.Fprintf(out, "    %s: %d of %d\n", s.name, done, last)
				}
			}
			var took time.Duration
			var err error
			if o.bulk {
				took, err = load(o, s, last, progress)
			} else {
				took, err = produce(o, s, 0, last, false, progress)
			}
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(out, "    %s: %d runs in %.0f s\n", s.name, last, took.Seconds())
		}
		const portions = 5 // in turns, so that the machine's moods are shared
		var took [2]time.Duration
		for portion := range portions {
			for i, s := range stores {
				from, to := last+(o.runs-last)*portion/portions, last+(o.runs-last)*(portion+1)/portions
				t, err := produce(o, s, from, to, true, func(int) {})
				if err != nil {
					return err
				}
				took[i] += t
			}
		}
		for i := range stores {
			speed[i] = float64(o.runs-last) / took[i].Seconds()
		}
		_, _ = fmt.Fprintf(out, "%-28s %10s %12s %12s %10s\n", "", "", "stock", "this store", "ratio")
		_, _ = fmt.Fprintf(out, "%-28s %10s %12.0f %12.0f %10.2f\n", "runs written a second", "", speed[0], speed[1], speed[1]/speed[0])
	}
	_, _ = fmt.Fprintf(out, "milliseconds, median | least: stock%s, this store, ratio\n", map[bool]string{true: ", stock by the same way"}[len(all) > 2])
	for _, q := range questions(o) {
		results, count, err := q.measure(o, all)
		if err != nil {
			return err
		}
		var medians, leasts []time.Duration
		for _, r := range results {
			medians, leasts = append(medians, r.median), append(leasts, r.least)
		}
		_, _ = fmt.Fprintf(out, "%-28s %10d %s | %s\n", q.name, count, compared(medians), compared(leasts))
	}
	return nil
}

// compared shows times, and the last as a multiple of the one before it: the same store's by the same way, if there is one.
func compared(times []time.Duration) string {
	var line strings.Builder
	for _, t := range times {
		fmt.Fprintf(&line, " %8.2f", t.Seconds()*1000)
	}
	last := len(times) - 1
	fmt.Fprintf(&line, " %7.3f", times[last].Seconds()/times[last-1].Seconds())
	return line.String()
}
