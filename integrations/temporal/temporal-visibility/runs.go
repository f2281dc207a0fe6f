package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// Random runs. Everything comes from few values, so that queries find some runs and not all, and from a generator of
// the run's own, so that a run is the same whatever the number of runs.

const (
	typeText     = enumspb.INDEXED_VALUE_TYPE_TEXT
	typeKeyword  = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	typeInt      = enumspb.INDEXED_VALUE_TYPE_INT
	typeDouble   = enumspb.INDEXED_VALUE_TYPE_DOUBLE
	typeBool     = enumspb.INDEXED_VALUE_TYPE_BOOL
	typeDatetime = enumspb.INDEXED_VALUE_TYPE_DATETIME
	typeList     = enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
)

var namespaces = []string{
	"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333",
}

var divisions = []string{"", "", "", "", "", "TemporalScheduler", "TemporalBatcher", "ünïcode"}

// attributes are those of runs; chasmAttributes those of CHASM executions, by the names of their columns.
var attributes = map[string]enumspb.IndexedValueType{
	"Keyword01": typeKeyword, "Keyword02": typeKeyword, "TemporalScheduledById": typeKeyword, "BatcherUser": typeKeyword,
	"TemporalWorkerDeployment": typeKeyword, "TemporalWorkerDeploymentVersion": typeKeyword, "TemporalWorkflowVersioningBehavior": typeKeyword,
	"TemporalReportedProblems": typeList, "KeywordList01": typeList, "KeywordList02": typeList, "BuildIds": typeList, "Text01": typeText, "Text02": typeText,
	"Int01": typeInt, "Int02": typeInt, "Double01": typeDouble, "Bool01": typeBool, "TemporalSchedulePaused": typeBool,
	"Datetime01": typeDatetime, "TemporalScheduledStartTime": typeDatetime,
}

var chasmAttributes = map[string]enumspb.IndexedValueType{
	"TemporalBool01": typeBool, "TemporalDatetime01": typeDatetime, "TemporalInt01": typeInt, "TemporalDouble01": typeDouble,
	"TemporalKeyword01": typeKeyword, "TemporalLowCardinalityKeyword01": typeKeyword, "TemporalKeywordList01": typeList,
}

// long is more than fits a key: two values that differ only at their end, and characters of two and four bytes.
var long = strings.Repeat("k", 250)

var keywords = []string{
	"", "a", "A", "b", "ab", "abc", "alpha", "alphabet", "Äpfel", "日本語", "日本", "🙂 smile", "o'clock", "100%", "100_", "x!y",
	"two words", "category=WorkflowTaskFailed", " blank", "order-1", "order-2", "order-10", long + "1", long + "2", strings.Repeat("ü", 130) + "x", strings.Repeat("🙂", 200),
}

var words = []string{
	"alpha", "Alpha", "beta", "gamma", "delta", "größe", "日本語", "x", "42", "a-b", "under_score", strings.Repeat("w", 300) + "1",
	strings.Repeat("w", 300) + "2",
}

var ints = []int64{0, 1, -1, 2, 7, 10, 42, 1000, -1000, 1 << 40, 9223372036854775807, -9223372036854775808}

// doubles are what Temporal's DECIMAL(20,5) holds.
var doubles = []float64{0, 1, -1, 0.5, 1.5, -1.5, 2.25, 100, 0.03125, -0.03125, 1e6, 123456.5}

var (
	workflowIDs   = []string{"order-1", "order-2", "order-10", "Order-1", "ünï", "w w", "schedule:1", "a%b", strings.Repeat("i", 255)}
	workflowTypes = []string{"Pay", "Ship", "pay", "Größe", "日本語", "temporal-sys-scheduler-workflow"}
	taskQueues    = []string{"main", "other", "Main", "ünï"}
)

// origin is the first of a few instants at which everything happens.
var origin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// instant is one of few in the most cases, else anywhere within a day and with nanoseconds.
func instant(r *rand.Rand) time.Time {
	if r.IntN(3) > 0 {
		return origin.Add(time.Duration(r.IntN(40)) * 7 * time.Minute)
	}
	return origin.Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func some(r *rand.Rand, of []string, most int) []string {
	n := r.IntN(most + 1)
	chosen := make([]string, n)
	for i := range chosen {
		chosen[i] = pick(r, of)
	}
	return chosen
}

// value is one of a type, as the server decodes it.
func value(r *rand.Rand, t enumspb.IndexedValueType) any {
	switch t {
	case typeKeyword:
		return pick(r, keywords)
	case typeText:
		return strings.Join(some(r, words, 4), pick(r, []string{" ", "  ", "\t", "\n"}))
	case typeInt:
		return pick(r, ints)
	case typeDouble:
		return pick(r, doubles)
	case typeBool:
		return r.IntN(2) == 0
	case typeDatetime:
		at := instant(r).Truncate(time.Microsecond)
		if r.IntN(4) == 0 {
			at = at.In(time.FixedZone("", 2*60*60))
		}
		return at
	default:
		return some(r, keywords, 3)
	}
}

// A kind of write.
type kind int

const (
	started kind = iota
	upserted
	closed
	deleted
)

// A write is what happens to a run once. Both stores get requests of their own: some change what they are given.
type write struct {
	kind          kind
	namespace     string
	runID         string
	version       int64
	workflowID    string
	typeName      string
	taskQueue     string
	status        enumspb.WorkflowExecutionStatus
	start, exec   time.Time
	close         time.Time
	duration      time.Duration
	length, size  int64
	transitions   int64
	memo          []byte
	parent        *string
	parentRun     *string
	root, rootRun string
	values        map[string]any
	types         map[string]enumspb.IndexedValueType
	late          bool // after the run was deleted
}

func (w *write) base() *store.InternalVisibilityRequestBase {
	fields := map[string]*commonpb.Payload{}
	for name, v := range w.values {
		fields[name] = sadefs.MustEncodeValue(v, w.types[name])
	}
	var encoded *commonpb.SearchAttributes
	if len(fields) > 0 {
		encoded = &commonpb.SearchAttributes{IndexedFields: fields}
	}
	return &store.InternalVisibilityRequestBase{
		NamespaceID: w.namespace, WorkflowID: w.workflowID, RunID: w.runID, WorkflowTypeName: w.typeName, StartTime: w.start,
		Status: w.status, ExecutionTime: w.exec, TaskID: w.version, ShardID: 1, TaskQueue: w.taskQueue, SearchAttributes: encoded,
		Memo:             &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: slices.Clone(w.memo)},
		ParentWorkflowID: w.parent, ParentRunID: w.parentRun, RootWorkflowID: w.root, RootRunID: w.rootRun,
	}
}

func (w *write) apply(ctx context.Context, s store.VisibilityStore) error {
	switch w.kind {
	case started:
		return s.RecordWorkflowExecutionStarted(ctx, &store.InternalRecordWorkflowExecutionStartedRequest{InternalVisibilityRequestBase: w.base()})
	case upserted:
		return s.UpsertWorkflowExecution(ctx, &store.InternalUpsertWorkflowExecutionRequest{InternalVisibilityRequestBase: w.base()})
	case closed:
		return s.RecordWorkflowExecutionClosed(ctx, &store.InternalRecordWorkflowExecutionClosedRequest{
			InternalVisibilityRequestBase: w.base(), CloseTime: w.close, HistoryLength: w.length, HistorySizeBytes: w.size,
			ExecutionDuration: w.duration, StateTransitionCount: w.transitions,
		})
	default:
		return s.DeleteWorkflowExecution(ctx, &manager.VisibilityDeleteWorkflowExecutionRequest{
			NamespaceID: namespace.ID(w.namespace), RunID: w.runID, WorkflowID: w.workflowID, TaskID: w.version,
		})
	}
}

func runID(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Int64N(1<<48))
}

// writesOf are those of run number i, in the order in which both stores get them: the server's, or another one.
func writesOf(seed uint64, i int) []write {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	w := write{
		namespace: namespaces[min(r.IntN(8), len(namespaces)-1)], runID: runID(r), workflowID: pick(r, workflowIDs),
		typeName: pick(r, workflowTypes), taskQueue: pick(r, taskQueues), status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		start: instant(r), memo: []byte(pick(r, []string{"", "memo", "\x00\xff"})), types: attributes,
	}
	w.exec = pick(r, []time.Time{w.start, w.start, w.start.Add(time.Hour), time.Unix(0, 0).UTC()})
	w.root, w.rootRun = w.workflowID, w.runID
	if r.IntN(3) == 0 {
		parent, parentRun := pick(r, workflowIDs), runID(r)
		w.parent, w.parentRun, w.root, w.rootRun = &parent, &parentRun, pick(r, workflowIDs), parentRun
	}
	if r.IntN(2) == 0 {
		w.workflowID = fmt.Sprintf("w-%d", r.IntN(400))
	}
	division := pick(r, divisions)
	if r.IntN(8) == 0 {
		division, w.types = strconv.Itoa(int(archetype)), maps.Clone(chasmAttributes)
		w.types[sadefs.TemporalNamespaceDivision] = typeKeyword
	} else if division != "" {
		w.types = maps.Clone(attributes)
		w.types[sadefs.TemporalNamespaceDivision] = typeKeyword
	}
	version := r.Int64N(1000) + 1
	var writes []write
	add := func(k kind) {
		w.kind, w.version = k, version
		version += 1 + r.Int64N(10)
		w.values = map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(w.types)) {
			if name == sadefs.TemporalNamespaceDivision {
				w.values[name] = division
			} else if r.IntN(3) == 0 {
				w.values[name] = value(r, w.types[name])
			}
		}
		writes = append(writes, w)
	}
	if r.IntN(10) > 0 {
		add(started)
	}
	for range r.IntN(3) {
		if r.IntN(10) == 0 {
			w.status = enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED
		}
		add(upserted)
	}
	if r.IntN(3) > 0 || len(writes) == 0 {
		w.status = enumspb.WorkflowExecutionStatus(2 + r.IntN(6))
		w.close = w.start.Add(time.Duration(r.Int64N(int64(3 * time.Hour))))
		switch r.IntN(6) {
		case 0: // the clock of another host
			w.close = w.start.Add(-time.Duration(r.Int64N(int64(time.Second))))
		case 1, 2:
			w.close = origin.Add(5 * time.Hour)
		}
		w.duration, w.length = w.close.Sub(w.start), r.Int64N(50)
		w.size, w.transitions = r.Int64N(5000), r.Int64N(20)
		add(closed)
	}
	if r.IntN(5) == 0 {
		r.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	}
	for r.IntN(8) == 0 { // a task that is repeated
		writes = append(writes, pick(r, writes))
	}
	if r.IntN(12) == 0 {
		w.kind = deleted
		w.version = version
		at := r.IntN(len(writes) + 1)
		if r.IntN(2) == 0 {
			at = len(writes)
		}
		writes = slices.Insert(writes, at, w)
		for i := at + 1; i < len(writes); i++ {
			writes[i].late = true
		}
	}
	return writes
}

// fill writes all runs into both stores, some at once; those of one run one after the other.
func fill(o options, stores ...*tried) (int64, error) {
	var next, writes atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, o.at)
	for range o.at {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < o.runs; i = int(next.Add(1)) - 1 {
				for _, w := range writesOf(o.seed, i) {
					for _, s := range stores {
						if w.late && !s.staysDeleted {
							continue
						}
						ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
						err := w.apply(ctx, s)
						cancel()
						if err != nil {
							failures <- fmt.Errorf("%s: run %d (%s), write %d: %w", s.name, i, w.runID, w.kind, err)
							return
						}
					}
					writes.Add(1)
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
		return writes.Load(), nil
	}
}
