package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// A million runs take hours one by one. These are written many at once, past both stores, and leave the tables as the
// stores would have: 'dsql visibility check' looks at the one, the answers to the questions must agree with the other.

// indexers is how many indexes of the stock store are made at once.
const indexers = 3

// loaded is how many runs a transaction writes: of 3,000 rows that it may, six for each run.
const loaded = 400

// A table collects columns of rows that one statement inserts.
type table struct {
	runs, workflows, types, queues, json, attributes, values, posted []string
	versions, closes, starts, durations, status, buckets             []int64
	postedCloses, postedStarts, postedBuckets                        []int64
	counts                                                           map[int64]int64
}

// bucket is dsql_visibility_bucket() of src/visibility/keys.c.
func bucket(run string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(run))
	return int64((h.Sum32() ^ h.Sum32()>>16) % 4)
}

const opened = -1 << 63 // close_inv of an open run

func (t *table) add(w write, nanoseconds bool) {
	form := time.RFC3339Nano
	if nanoseconds {
		form = "2006-01-02T15:04:05.000000000Z07:00"
	}
	number, keyword := w.values["Int01"].(int64), w.values["Keyword01"].(string)
	at, builds := w.values["Datetime01"].(time.Time).Format(form), w.values["BuildIds"].([]string)
	ended := int64(opened)
	if w.kind == closed {
		ended = -w.close.UnixMicro()
	}
	t.runs, t.versions, t.buckets = append(t.runs, w.runID), append(t.versions, w.version), append(t.buckets, bucket(w.runID))
	t.status, t.closes, t.starts = append(t.status, int64(w.status)), append(t.closes, ended), append(t.starts, -w.start.UnixMicro())
	t.workflows, t.types, t.queues = append(t.workflows, w.workflowID), append(t.types, w.typeName), append(t.queues, w.taskQueue)
	t.durations = append(t.durations, int64(w.duration))
	t.json = append(t.json, fmt.Sprintf(`{"Int01": %d, "BuildIds": ["%s"], "Keyword01": "%s", "Datetime01": "%s"}`, number,
		strings.Join(builds, `", "`), keyword, at))
	post := func(attribute, value string) {
		t.posted, t.attributes, t.values = append(t.posted, w.runID), append(t.attributes, attribute), append(t.values, value)
		t.postedBuckets, t.postedCloses, t.postedStarts = append(t.postedBuckets, bucket(w.runID)), append(t.postedCloses, ended), append(t.postedStarts, -w.start.UnixMicro())
	}
	post("Int01", fmt.Sprintf("%016x", uint64(number)^1<<63))
	post("Keyword01", keyword)
	post("Datetime01", at)
	for _, build := range builds {
		post("BuildIds", build)
	}
	t.counts[int64(w.status)]++
}

const columns = `unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
	$10::text[], $11::bigint[], $12::text[]) AS u (run, version, bucket, status, closed, started, workflow, type, queue, duration, json)`

func (t *table) values12() []any {
	return []any{namespaces[0], t.runs, t.versions, t.buckets, t.status, t.closes, t.starts, t.workflows, t.types, t.queues, t.durations, t.json}
}

func (t *table) intoDSQL(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `INSERT INTO executions_visibility (namespace_id, run_id, _version, bucket, division, status, close_inv,
		start_inv, execution_time, workflow_id, workflow_type_name, task_queue, root_workflow_id, root_run_id, encoding, count_keyword,
		execution_duration, history_length, history_size_bytes, state_transition_count, memo, search_attributes)
		SELECT $1, run, version, bucket::smallint, '', status::smallint, closed, started, -started, workflow, type, queue, workflow, run,
		'Proto3', '', CASE WHEN status > 1 THEN duration END, CASE WHEN status > 1 THEN 11 END, CASE WHEN status > 1 THEN 2400 END,
		CASE WHEN status > 1 THEN 7 END, convert_to('memo of a run', 'UTF8'), json::jsonb FROM `+columns, t.values12()...); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO visibility_postings (namespace_id, run_id, attribute, value, bucket, close_inv, start_inv)
		SELECT $1, u.run, u.attribute, u.value, u.bucket::smallint, u.closed, u.started
		FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
		AS u (run, attribute, value, bucket, closed, started)`,
		namespaces[0], t.posted, t.attributes, t.values, t.postedBuckets, t.postedCloses, t.postedStarts); err != nil {
		return err
	}
	for status, runs := range t.counts {
		if _, err := tx.Exec(ctx, `INSERT INTO visibility_counts (namespace_id, division, status, count_keyword, id, delta)
			VALUES ($1, '', $2, '', gen_random_uuid(), $3)`, namespaces[0], status, runs); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) intoStock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO executions_visibility (namespace_id, run_id, _version, status, close_time, start_time,
		execution_time, workflow_id, workflow_type_name, task_queue, root_workflow_id, root_run_id, encoding, execution_duration,
		history_length, history_size_bytes, state_transition_count, memo, search_attributes)
		SELECT $1, run, version, status, CASE WHEN status > 1 THEN timestamp 'epoch' - closed * interval '1 us' END,
		timestamp 'epoch' - started * interval '1 us', timestamp 'epoch' - started * interval '1 us', workflow, type, queue, workflow,
		run, 'Proto3', CASE WHEN status > 1 THEN duration END, CASE WHEN status > 1 THEN 11 END, CASE WHEN status > 1 THEN 2400 END,
		CASE WHEN status > 1 THEN 7 END, convert_to('memo of a run', 'UTF8'), json::jsonb
		FROM (SELECT * FROM `+columns+` WHERE $4::bigint[] IS NOT NULL) u`, t.values12()...)
	return err
}

// withoutIndexes takes the stock store's 70 indexes away, does something, and makes them again: row by row they would
// take most of the time.
func withoutIndexes(address string, do func() error) error {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(ctx) }()
	rows, err := connection.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes
		WHERE tablename = 'executions_visibility' AND indexdef NOT LIKE 'CREATE UNIQUE%'`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([2]string, error) {
		var index [2]string
		return index, row.Scan(&index[0], &index[1])
	})
	if err != nil {
		return err
	}
	for _, index := range names {
		if _, err := connection.Exec(ctx, "DROP INDEX "+index[0]); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	return makeIndexes(ctx, address, names)
}

// makeIndexes makes some indexes at once: each reads the whole table, and most have nothing to sort.
func makeIndexes(ctx context.Context, address string, indexes [][2]string) error {
	var next atomic.Int64
	var group sync.WaitGroup
	failures := make([]error, indexers)
	for i := range failures {
		group.Go(func() {
			failures[i] = func() error {
				connection, err := pgx.Connect(ctx, address)
				if err != nil {
					return err
				}
				defer func() { _ = connection.Close(ctx) }()
				for at := next.Add(1) - 1; at < int64(len(indexes)); at = next.Add(1) - 1 {
					if _, err := connection.Exec(ctx, "SET maintenance_work_mem = '200MB'; "+indexes[at][1]); err != nil {
						return err
					}
				}
				return nil
			}()
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// load writes the runs 0..to into a store, some transactions at once.
func load(o options, s *tried, to int, progress func(int)) (time.Duration, error) {
	begin := time.Now()
	if s.name == "dsql" { // PostgreSQL's own variables name the cluster
		err := loadInto(o, s, "", to, progress)
		if err == nil {
			err = analyzed(s)
		}
		return time.Since(begin), err
	}
	err := withoutIndexes(s.address(), func() error { return loadInto(o, s, s.address(), to, progress) })
	if err == nil {
		err = analyzed(s)
	}
	return time.Since(begin), err
}

// address is that of a stock store's PostgreSQL.
func (s *tried) address() string {
	return fmt.Sprintf("host=%s port=5432 user=stock dbname=visibility sslmode=disable", s.name)
}

// analyzed has the planners of both kinds know what was written, as the service and autovacuum see to by themselves.
func analyzed(stores ...*tried) error {
	for _, s := range stores {
		var err error
		switch {
		case s.name == "dsql":
			err = analyze("", "executions_visibility", "visibility_postings")
		case strings.HasPrefix(s.name, "/"):
			err = analyze(s.address(), "executions_visibility")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func loadInto(o options, s *tried, address string, to int, progress func(int)) error {
	own := address == ""
	var next, done atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, o.at)
	for range min(o.at, 4) {
		group.Go(func() {
			failures <- func() error {
				ctx := context.Background()
				connection, err := pgx.Connect(ctx, address)
				if err != nil {
					return err
				}
				defer func() { _ = connection.Close(ctx) }()
				for from := int(next.Add(loaded)) - loaded; from < to; from = int(next.Add(loaded)) - loaded {
					t := &table{counts: map[int64]int64{}}
					for i := from; i < min(from+loaded, to); i++ {
						t.add(producedAt(o.seed, i), own)
					}
					write := t.intoStock
					if own {
						write = t.intoDSQL
					}
					if err := pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error { return write(ctx, tx) }); err != nil {
						return fmt.Errorf("%s: runs from %d on: %w", s.name, from, err)
					}
					progress(int(done.Add(loaded)))
				}
				return nil
			}()
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// analyze: the planner knows how many rows there are, and what is in indexes on expressions, as after a while of single
// writes.
func analyze(address string, tables ...string) error {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(ctx) }()
	for _, name := range tables {
		if _, err := connection.Exec(ctx, "ANALYZE "+name); err != nil {
			return err
		}
	}
	return nil
}
