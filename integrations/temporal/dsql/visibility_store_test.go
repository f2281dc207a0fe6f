package dsql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/payload"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/searchattribute"
	"go.temporal.io/server/service/history/queues"
)

func TestAttributeTexts(t *testing.T) {
	at := time.Date(2026, 11, 18, 3, 0, 0, 5, time.FixedZone("", 3600))
	for _, c := range []struct {
		value  any
		isText bool
		kind   enumspb.IndexedValueType
		texts  []string // nil: refused
	}{
		{"a b", false, enumspb.INDEXED_VALUE_TYPE_KEYWORD, []string{"a b"}},
		{"a b", true, enumspb.INDEXED_VALUE_TYPE_TEXT, []string{"a b"}},
		{[]string{"a", "b"}, false, enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST, []string{"a", "b"}},
		{int64(math.MinInt64), false, enumspb.INDEXED_VALUE_TYPE_INT, []string{"-9223372036854775808"}},
		{1e6, false, enumspb.INDEXED_VALUE_TYPE_DOUBLE, []string{"1e+06"}},
		{true, false, enumspb.INDEXED_VALUE_TYPE_BOOL, []string{"true"}},
		{at, false, enumspb.INDEXED_VALUE_TYPE_DATETIME, []string{"2026-11-18T02:00:00.000000005Z"}},
		{"a\x00b", false, 0, nil},
		{[]string{"a", "\x00"}, false, 0, nil},
		{math.NaN(), false, 0, nil},
		{math.Inf(1), false, 0, nil},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), false, 0, nil},
		{struct{}{}, false, 0, nil},
	} {
		kind, texts, err := attributeTexts(c.value, c.isText)
		if c.texts == nil {
			if err == nil {
				t.Errorf("%v was not refused", c.value)
			}
		} else if err != nil || kind != c.kind || !slices.Equal(texts, c.texts) {
			t.Errorf("%v: %v %v %v", c.value, kind, texts, err)
		}
	}
	valid, err := (&VisibilityStore{}).ValidateCustomSearchAttributes(map[string]any{"a": "x", "b": math.NaN(), "c": nil})
	if err == nil || len(valid) != 2 || valid["a"] != "x" {
		t.Errorf("%v %v", valid, err)
	}
}

// Many writes ask for a pass of the compactor, once, and never wait for it.
func TestVisibilityCompactsAfterManyWrites(t *testing.T) {
	s := &VisibilityStore{crowded: make(chan struct{}, 1)}
	for range compactAfter - 1 {
		s.written()
	}
	if len(s.crowded) != 0 {
		t.Error("a pass before its time")
	}
	for range 2 * compactAfter {
		s.written()
	}
	if len(s.crowded) != 1 {
		t.Error("no pass after many writes")
	}
}

// What Temporal records arrives in the tables, and running it again or late changes nothing.
func TestVisibilityWrites(t *testing.T) {
	if os.Getenv("DSQL_ENDPOINT") == "" {
		t.Skip("no cluster")
	}
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	s, err := NewVisibilityStore(&config.SQL{MaxConns: 4}, "", searchattribute.NewTestEsProvider(), nil, nil, log.NewTestLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ns := namespace.ID(fmt.Sprintf("ns-%d", time.Now().UnixNano()))
	attributes := func(v any, kind string) *commonpb.SearchAttributes {
		p, err := payload.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		p.Metadata["type"] = []byte(kind)
		return &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{"TemporalKeyword01": p}}
	}
	base := func(task int64) *store.InternalVisibilityRequestBase {
		return &store.InternalVisibilityRequestBase{NamespaceID: ns.String(), WorkflowID: "wf", RunID: "run", WorkflowTypeName: "type",
			StartTime: time.UnixMicro(1000), ExecutionTime: time.UnixMicro(1000), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			TaskID: task, TaskQueue: "tq", SearchAttributes: attributes("blue", "Keyword")}
	}
	started := &store.InternalRecordWorkflowExecutionStartedRequest{InternalVisibilityRequestBase: base(1)}
	closed := &store.InternalRecordWorkflowExecutionClosedRequest{InternalVisibilityRequestBase: base(3), CloseTime: time.UnixMicro(5000), HistoryLength: 7}
	closed.Status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	upsert := &store.InternalUpsertWorkflowExecutionRequest{InternalVisibilityRequestBase: base(2)}
	deleted := &manager.VisibilityDeleteWorkflowExecutionRequest{NamespaceID: ns, RunID: "run", WorkflowID: "wf"}
	memo := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB, which is Temporal's limit
	closed.Memo = &commonpb.DataBlob{Data: memo, EncodingType: enumspb.ENCODING_TYPE_PROTO3}
	for i, write := range []func() error{
		func() error { return s.RecordWorkflowExecutionStarted(ctx, started) },
		func() error { return s.RecordWorkflowExecutionStarted(ctx, started) },
		func() error { return s.RecordWorkflowExecutionClosed(ctx, closed) },
		func() error { return s.UpsertWorkflowExecution(ctx, upsert) }, // late
		func() error {
			got, err := s.GetWorkflowExecution(ctx, &manager.GetWorkflowExecutionRequest{NamespaceID: ns, RunID: "run"})
			if err == nil && !bytes.Equal(got.Execution.Memo.GetData(), memo) {
				t.Errorf("a memo of %d bytes came back as %d", len(memo), len(got.Execution.Memo.GetData()))
			}
			return err
		},
		func() error { return s.compact(ctx) },
		func() error { return s.DeleteWorkflowExecution(ctx, deleted) },
		func() error { return s.UpsertWorkflowExecution(ctx, upsert) },
	} {
		if err := write(); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	closed.RunID = ""
	err = s.RecordWorkflowExecutionClosed(ctx, closed)
	var invalid *serviceerror.InvalidArgument
	var terminal queues.MaybeTerminalTaskError
	if !errors.As(err, &invalid) || !errors.As(err, &terminal) || !terminal.IsTerminalTaskError() {
		t.Errorf("a run without an id: %v", err)
	}
	s.Close()
	if err := s.DeleteWorkflowExecution(ctx, deleted); err == nil {
		t.Error("a closed store writes")
	}
}
