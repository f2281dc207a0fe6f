package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// most is how many pages a list has at most.
const most = 25

// shown is how many differences are made small and printed.
const shown = 10

// diff writes the runs into both stores, asks both all queries, and fails if there was a difference that is not one of
// the known ones.
func diff(out io.Writer, o options, reference, subject *tried) error {
	_, _ = fmt.Fprintf(out, "seed %d: %d runs, %d queries, on %s and %s\n", o.seed, o.runs, o.queries, reference.name, subject.name)
	begin := time.Now()
	if !o.kept {
		writes, err := fill(o, reference, subject)
		if err != nil {
			return err
		}
		if err := analyzed(reference, subject); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%d writes in %.1f s\n", writes, time.Since(begin).Seconds())
	}
	differs := func(q *query) string {
		r, s := q.wanted(q.ask(reference, 1)), q.wanted(q.ask(subject, most))
		if known(reference, subject, q, r, s) != "" {
			return ""
		}
		return differ(r, s)
	}
	all := fixed(o.seed)
	for i := range o.queries {
		all = append(all, queryOf(o.seed, o.runs, i))
	}
	all = append(all, edges()...)
	var next, asked, found, failures, runs, excused atomic.Int64
	var group sync.WaitGroup
	var mutex sync.Mutex
	begin = time.Now()
	// A signal ends the comparison after the queries that are under way: what was compared counts.
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(stopped)
	over := make(chan struct{})
	group.Go(func() {
		for progress := time.Tick(30 * time.Second); ; {
			select {
			case <-over:
				return
			case <-stopped:
				next.Store(int64(len(all)))
			case <-progress:
				mutex.Lock()
				_, _ = fmt.Fprintf(out, "    %d of %d queries after %.0f s\n", asked.Load(), len(all), time.Since(begin).Seconds())
				mutex.Unlock()
			}
		}
	})
	var askers sync.WaitGroup
	for range o.at {
		askers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				q := all[i]
				if o.only >= 0 && q.number != o.only {
					continue
				}
				r, s := q.wanted(q.ask(reference, 1)), q.wanted(q.ask(subject, most))
				asked.Add(1)
				runs.Add(int64(len(r.runs)))
				if r.failure != "" {
					failures.Add(1)
				}
				if differ(r, s) == "" {
					continue
				}
				if known(reference, subject, q, r, s) != "" {
					excused.Add(1)
					continue
				}
				if found.Add(1) > shown {
					continue
				}
				smallest, said := shrink(q, differs)
				mutex.Lock()
				_, _ = fmt.Fprintf(out, "%v\n    %s\n", smallest, said)
				mutex.Unlock()
			}
		})
	}
	askers.Wait()
	close(over)
	group.Wait()
	_, _ = fmt.Fprintf(out, "%d of %d queries in %.1f s: %d runs listed, %d failures on both, %d known differences, %d other differences\n",
		asked.Load(), len(all), time.Since(begin).Seconds(), runs.Load(), failures.Load(), excused.Load(), found.Load())
	if found.Load() > 0 {
		return fmt.Errorf("%d queries differ; again with --seed %d --runs %d", found.Load(), o.seed, o.runs)
	}
	return nil
}
