package dsql

/*
#include "visibility_bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/searchattribute"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// VisibilityName is the store's name, and of the index of its search attributes.
const VisibilityName = "dsql"

const (
	memoMax         = 8 << 20 // of a write; Temporal's own limit is 2 MiB
	compactInterval = 30 * time.Second
	compactAfter    = 1000 // writes of this process, which leave two counters each at most
)

// VisibilityStore is Temporal's visibility in the cluster itself. Writes are here, reads in visibility_read.go;
// both are calls into libdsql.
type VisibilityStore struct {
	visibilityReader
	e             *engine
	index         string
	saProvider    searchattribute.Provider
	saMappers     searchattribute.MapperProvider
	chasmRegistry *chasm.Registry
	logger        log.Logger
	metrics       metrics.Handler

	crowded  chan struct{} // enough was written for a pass before its time
	stop     context.CancelFunc
	stopped  sync.WaitGroup
	closeOne sync.Once
	writes   atomic.Int64
}

// NewVisibilityStore opens the process's pool, as NewFactory does, and compacts counters until it is closed.
// index is the name that the cluster's search attributes are kept under.
func NewVisibilityStore(cfg *config.SQL, index string, saProvider searchattribute.Provider, saMappers searchattribute.MapperProvider,
	chasmRegistry *chasm.Registry, logger log.Logger, handler metrics.Handler) (*VisibilityStore, error) {
	opened, err := plugin{}.CreateDB(sqlplugin.DbKindMain, cfg, nil, logger, handler)
	if err != nil {
		return nil, err
	}
	e := opened.(*db).e
	if err := e.verifyVisibility(); err != nil {
		e.close()
		return nil, err
	}
	if index == "" {
		index = VisibilityName
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &VisibilityStore{e: e, index: index, saProvider: saProvider, saMappers: saMappers, chasmRegistry: chasmRegistry,
		logger: logger, metrics: handler, crowded: make(chan struct{}, 1), stop: stop}
	s.visibilityReader = visibilityReader{engine: e, vis: e.c.visibility, index: index, provider: saProvider, mappers: saMappers,
		chasm: chasmRegistry, logger: logger, metrics: handler}
	s.stopped.Add(1)
	go s.keepCompact(ctx)
	return s, nil
}

// verifyVisibility compares the tables in the cluster with what libdsql's statements were written for.
func (e *engine) verifyVisibility() error {
	if err := e.use(); err != nil {
		return err
	}
	defer e.release()
	var cerr C.struct_dsql_err
	if rc := C.dsql_visibility_verify_schema(e.c.visibility, C.int64_t(30*time.Second), &cerr); rc != 0 {
		return newError("VerifySchema", C.int(rc), &cerr)
	}
	return nil
}

func (s *VisibilityStore) Close() {
	s.closeOne.Do(func() {
		s.stop()
		s.stopped.Wait()
		s.e.close()
	})
}

func (s *VisibilityStore) GetName() string      { return VisibilityName }
func (s *VisibilityStore) GetIndexName() string { return s.index }

// AddSearchAttributes has nothing to do: attributes are rows, not columns.
func (s *VisibilityStore) AddSearchAttributes(context.Context, *manager.AddSearchAttributesRequest) error {
	return nil
}

// ValidateCustomSearchAttributes leaves out what the store cannot hold, and says what it was.
func (s *VisibilityStore) ValidateCustomSearchAttributes(attributes map[string]any) (map[string]any, error) {
	valid := make(map[string]any, len(attributes))
	var wrong []string
	for name, v := range attributes {
		if v == nil {
			valid[name] = nil
		} else if _, _, err := attributeTexts(v, false); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
		} else {
			valid[name] = v
		}
	}
	if len(wrong) > 0 {
		return valid, serviceerror.NewInvalidArgument("search attributes that visibility cannot hold: " + strings.Join(wrong, "; "))
	}
	return valid, nil
}

func (s *VisibilityStore) RecordWorkflowExecutionStarted(ctx context.Context, request *store.InternalRecordWorkflowExecutionStartedRequest) error {
	return s.record(ctx, "RecordWorkflowExecutionStarted", C.DSQL_VISIBILITY_STARTED, request.InternalVisibilityRequestBase, nil)
}

func (s *VisibilityStore) UpsertWorkflowExecution(ctx context.Context, request *store.InternalUpsertWorkflowExecutionRequest) error {
	return s.record(ctx, "UpsertWorkflowExecution", C.DSQL_VISIBILITY_UPSERT, request.InternalVisibilityRequestBase, nil)
}

func (s *VisibilityStore) RecordWorkflowExecutionClosed(ctx context.Context, request *store.InternalRecordWorkflowExecutionClosedRequest) error {
	return s.record(ctx, "RecordWorkflowExecutionClosed", C.DSQL_VISIBILITY_CLOSED, request.InternalVisibilityRequestBase, request)
}

func (s *VisibilityStore) DeleteWorkflowExecution(ctx context.Context, request *manager.VisibilityDeleteWorkflowExecutionRequest) error {
	return s.call(ctx, "DeleteWorkflowExecution", func(cancel *C.struct_dsql_cancel, cerr *C.struct_dsql_err) C.int {
		ns, run := append([]byte(request.NamespaceID.String()), 0), append([]byte(request.RunID), 0)
		return C.bridge_visibility_delete(s.e.c, unsafe.Pointer(&ns[0]), C.size_t(len(ns)-1), unsafe.Pointer(&run[0]), C.size_t(len(run)-1),
			cancel, limit(ctx), cerr)
	})
}

// record writes a run. closed is nil for an open one.
func (s *VisibilityStore) record(ctx context.Context, name string, write C.int, request *store.InternalVisibilityRequestBase,
	closed *store.InternalRecordWorkflowExecutionClosedRequest) error {
	a := &args{}
	for _, field := range []any{request.NamespaceID, request.RunID, request.TaskID, int32(request.Status), request.StartTime, request.ExecutionTime} {
		a.add(field)
	}
	if closed == nil {
		a.add(nil)
	} else {
		a.add(closed.CloseTime)
	}
	for _, field := range []string{request.WorkflowID, request.WorkflowTypeName, request.TaskQueue, request.RootWorkflowID, request.RootRunID} {
		a.add(field)
	}
	for _, field := range []*string{request.ParentWorkflowID, request.ParentRunID} {
		if field == nil {
			a.add(nil)
		} else {
			a.add(*field)
		}
	}
	memo := request.Memo.GetData()
	if len(memo) > memoMax {
		s.logger.Warn("dsql: the memo of a run does not fit visibility, and is left out",
			tag.WorkflowID(request.WorkflowID), tag.WorkflowRunID(request.RunID), tag.NewInt("size", len(memo)))
		memo = nil
	}
	a.add(memo)
	a.add(request.Memo.GetEncodingType().String())
	if closed == nil {
		a.add(nil)
		a.add(nil)
		a.add(nil)
		a.add(nil)
	} else {
		a.add(closed.ExecutionDuration.Nanoseconds())
		a.add(closed.HistoryLength)
		a.add(closed.HistorySizeBytes)
		a.add(closed.StateTransitionCount)
	}
	if err := s.addAttributes(a, request); err != nil {
		return err
	}
	defer s.written()
	return forGood(s.call(ctx, name, func(cancel *C.struct_dsql_cancel, cerr *C.struct_dsql_err) C.int {
		a.bytes = append(a.bytes, 0)
		return C.bridge_visibility_record(s.e.c, write, (*C.struct_bridge_value)(unsafe.Pointer(&a.values[0])), C.size_t(len(a.values)),
			unsafe.Pointer(&a.bytes[0]), cancel, limit(ctx), cerr)
	}))
}

// A neverWritten record would fail each time. Temporal's queue of visibility tasks tries again what fails, but an error
// that says so of itself: that task goes to the dead letter queue at once.
type neverWritten struct{ error }

func (e neverWritten) Unwrap() error           { return e.error }
func (neverWritten) IsTerminalTaskError() bool { return true }

func forGood(err error) error {
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		return neverWritten{err}
	}
	return err
}

// written counts a write, and asks for a pass where many were made: a count reads every counter that was not compacted.
func (s *VisibilityStore) written() {
	if s.writes.Add(1)%compactAfter != 0 {
		return
	}
	select {
	case s.crowded <- struct{}{}:
	default: // somebody asked already
	}
}

// addAttributes adds what the store can hold. A value that it cannot, and one of an unknown type, is left out, as
// Temporal's own stores do: the task would fail for ever.
func (s *VisibilityStore) addAttributes(a *args, request *store.InternalVisibilityRequestBase) error {
	if request.SearchAttributes == nil {
		return nil
	}
	types, err := s.saProvider.GetSearchAttributes(s.index, false)
	if err != nil {
		return serviceerror.NewUnavailablef("unable to read search attribute types: %v", err)
	}
	decoded, err := searchattribute.Decode(request.SearchAttributes, &types, false)
	if err != nil {
		s.logger.Warn("dsql: a search attribute of a run is left out", tag.WorkflowID(request.WorkflowID), tag.WorkflowRunID(request.RunID), tag.Error(err))
	}
	for name, v := range decoded {
		if v == nil {
			continue
		}
		declared, err := types.GetType(name)
		if err != nil {
			declared = sadefs.GetMetadataType(request.SearchAttributes.GetIndexedFields()[name])
		}
		kind, texts, err := attributeTexts(v, declared == enumspb.INDEXED_VALUE_TYPE_TEXT)
		if err != nil {
			s.logger.Warn("dsql: a search attribute of a run is left out", tag.WorkflowID(request.WorkflowID), tag.WorkflowRunID(request.RunID),
				tag.String("search-attribute", name), tag.Error(err))
			continue
		}
		a.add(name)
		a.number(int64(kind))
		a.number(int64(len(texts)))
		for _, text := range texts {
			a.add(text)
		}
	}
	return nil
}

const datetimeLayout = "2006-01-02T15:04:05.000000000Z"

// attributeTexts is a value as libdsql takes it. isText tells a text from a keyword.
func attributeTexts(v any, isText bool) (enumspb.IndexedValueType, []string, error) {
	switch v := v.(type) {
	case string:
		if isText {
			return enumspb.INDEXED_VALUE_TYPE_TEXT, []string{v}, checkText(v)
		}
		return enumspb.INDEXED_VALUE_TYPE_KEYWORD, []string{v}, checkText(v)
	case []string:
		return enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST, v, checkText(v...)
	case int64:
		return enumspb.INDEXED_VALUE_TYPE_INT, []string{strconv.FormatInt(v, 10)}, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, nil, errors.New("no finite number")
		}
		return enumspb.INDEXED_VALUE_TYPE_DOUBLE, []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case bool:
		return enumspb.INDEXED_VALUE_TYPE_BOOL, []string{strconv.FormatBool(v)}, nil
	case time.Time:
		if year := v.UTC().Year(); year < 0 || year > 9999 {
			return 0, nil, fmt.Errorf("the year %d", year)
		}
		return enumspb.INDEXED_VALUE_TYPE_DATETIME, []string{v.UTC().Format(datetimeLayout)}, nil
	}
	return 0, nil, fmt.Errorf("no way to hold a %T", v)
}

func checkText(texts ...string) error {
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return errors.New("a text with a zero byte")
		}
	}
	return nil
}

// call runs one call of visibility, with the caller's deadline and cancellation.
func (s *VisibilityStore) call(ctx context.Context, name string, run func(*C.struct_dsql_cancel, *C.struct_dsql_err) C.int) error {
	e := s.e
	if err := e.use(); err != nil {
		return err
	}
	defer e.release()
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.leave()
	w, err := e.wake(ctx)
	if err != nil {
		return err
	}
	defer e.rest(w)
	var cerr C.struct_dsql_err
	rc := run(w.handle, &cerr)
	e.heard(rc)
	if rc == 0 {
		return nil
	}
	return visibilityError(ctx, newError(name, rc, &cerr))
}

// visibilityError is the failure as Temporal knows it: what would fail each time is the caller's, the rest is
// worth another try.
func visibilityError(ctx context.Context, err *Error) error {
	switch out := outward(ctx, err); {
	case out != error(err):
		return out
	case err.is(C.DSQL_INVALID), err.is(rcTooLarge):
		return serviceerror.NewInvalidArgument(err.Error())
	}
	return serviceerror.NewUnavailable(err.Error())
}

// keepCompact compacts every now and then, and after many writes. The stores of a process share a pool, and one pass for
// each interval.
func (s *VisibilityStore) keepCompact(ctx context.Context) {
	defer s.stopped.Done()
	for {
		crowded := false
		select {
		case <-ctx.Done():
			return
		case <-s.crowded:
			crowded = true
		case <-time.After(compactInterval/2 + rand.N(compactInterval)):
		}
		last, now := s.e.compacted.Load(), time.Now().UnixNano()
		if (!crowded && now-last < int64(compactInterval/2)) || !s.e.compacted.CompareAndSwap(last, now) {
			continue
		}
		if err := s.compact(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("dsql: counters of visibility were not compacted; the next pass tries again", tag.Error(err))
		}
	}
}

// compact makes one pass.
func (s *VisibilityStore) compact(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, compactInterval)
	defer done()
	for more := true; more; {
		var got C.struct_dsql_visibility_compacted
		err := s.call(ctx, "CompactVisibility", func(cancel *C.struct_dsql_cancel, cerr *C.struct_dsql_err) C.int {
			return C.bridge_visibility_compact(s.e.c, cancel, limit(ctx), &got, cerr)
		})
		if err != nil {
			return err
		}
		more = bool(got.more)
	}
	return nil
}
