package dsql

/*
#include "visibility_read_bridge.h"
*/
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/api/visibilityservice/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/persistence/visibility/store/query"
	"go.temporal.io/server/common/searchattribute"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// visibilityReader answers lists and counts. Temporal's parser reads the query, libdsql finds the runs.
type visibilityReader struct {
	engine   *engine
	vis      *C.struct_dsql_visibility
	index    string
	provider searchattribute.Provider
	mappers  searchattribute.MapperProvider
	chasm    *chasm.Registry
	logger   log.Logger
	metrics  metrics.Handler
}

// A visibilityAsk is what all lists and counts are asked with.
type visibilityAsk struct {
	namespaceID namespace.ID
	namespace   namespace.Name
	query       string
	archetype   chasm.ArchetypeID
	mapper      *chasm.VisibilitySearchAttributesMapper // nil but for CHASM
}

func (r *visibilityReader) ListWorkflowExecutions(
	ctx context.Context, request *manager.ListWorkflowExecutionsRequestV2,
) (*store.InternalListExecutionsResponse, error) {
	ask := visibilityAsk{namespaceID: request.NamespaceID, namespace: request.Namespace, query: request.Query}
	return r.list(ctx, "ListWorkflowExecutions", &ask, request.PageSize, request.NextPageToken)
}

func (r *visibilityReader) ListChasmExecutions(
	ctx context.Context, request *visibilityservice.ListChasmExecutionsRequest,
) (*store.InternalListExecutionsResponse, error) {
	ask, err := r.chasmAsk(request.ArchetypeId, request.NamespaceId, request.Namespace, request.Query)
	if err != nil {
		return nil, err
	}
	return r.list(ctx, "ListChasmExecutions", ask, int(request.PageSize), request.NextPageToken)
}

func (r *visibilityReader) CountWorkflowExecutions(
	ctx context.Context, request *manager.CountWorkflowExecutionsRequest,
) (*store.InternalCountExecutionsResponse, error) {
	ask := visibilityAsk{namespaceID: request.NamespaceID, namespace: request.Namespace, query: request.Query}
	return r.count(ctx, "CountWorkflowExecutions", &ask)
}

func (r *visibilityReader) CountChasmExecutions(
	ctx context.Context, request *visibilityservice.CountChasmExecutionsRequest,
) (*store.InternalCountExecutionsResponse, error) {
	ask, err := r.chasmAsk(request.ArchetypeId, request.NamespaceId, request.Namespace, request.Query)
	if err != nil {
		return nil, err
	}
	return r.count(ctx, "CountChasmExecutions", ask)
}

func (r *visibilityReader) chasmAsk(id chasm.ArchetypeID, namespaceID, name, text string) (*visibilityAsk, error) {
	component, ok := r.chasm.ComponentByID(id)
	if !ok {
		return nil, serviceerror.NewInvalidArgumentf("unknown archetype ID: %d", id)
	}
	return &visibilityAsk{namespace.ID(namespaceID), namespace.Name(name), text, id, component.SearchAttributesMapper()}, nil
}

// convert reads the query. What is wrong with it is InvalidArgument, as in Temporal's own stores.
func (r *visibilityReader) convert(ask *visibilityAsk) (*query.QueryParams[visibilityExpr], searchattribute.NameTypeMap, error) {
	types, err := r.provider.GetSearchAttributes(r.index, false)
	if err != nil {
		return nil, types, err
	}
	mapper, err := r.mappers.GetMapper(ask.namespace)
	if err != nil {
		return nil, types, err
	}
	params, err := newVisibilityConverter(ask.namespace, types, mapper, r.metrics, r.logger).
		WithChasmMapper(ask.mapper).
		WithArchetypeID(ask.archetype).
		Convert(ask.query)
	if err == nil && len(params.OrderBy) > 0 {
		err = query.NewConverterError("%s: 'ORDER BY' clause", query.NotSupportedErrMessage)
	}
	var wrong *query.ConverterError
	if errors.As(err, &wrong) {
		err = wrong.ToInvalidArgument()
	}
	return params, store.CombineTypeMaps(types, ask.mapper), err
}

// run enters libdsql with one input, and turns its failure into Temporal's error.
func (r *visibilityReader) run(
	ctx context.Context, name, namespaceID string, expr, rest []byte,
	call func(input unsafe.Pointer, asked *C.struct_bridge_asked, cancel *C.struct_dsql_cancel, err *C.struct_dsql_err) C.int,
) error {
	if err := r.engine.use(); err != nil {
		return serviceerror.NewUnavailable(err.Error())
	}
	defer r.engine.release()
	if err := r.engine.enter(ctx); err != nil {
		return visibilityReadError(ctx, name, err)
	}
	defer r.engine.leave()
	waker, err := r.engine.wake(ctx)
	if err != nil {
		return visibilityReadError(ctx, name, err)
	}
	defer r.engine.rest(waker)
	input := append(append(append([]byte(namespaceID), expr...), rest...), 0) // there is an address even of nothing
	asked := C.struct_bridge_asked{
		namespace_len: C.size_t(len(namespaceID)), expression_len: C.size_t(len(expr)), rest_len: C.size_t(len(rest)),
	}
	var failure C.struct_dsql_err
	rc := call(unsafe.Pointer(&input[0]), &asked, waker.handle, &failure)
	r.engine.heard(rc)
	if rc == 0 {
		return nil
	}
	return visibilityReadError(ctx, name, newError(name, rc, &failure))
}

// visibilityReadError is Temporal's own error for what a read met.
func visibilityReadError(ctx context.Context, name string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		if ended := ctx.Err(); ended != nil {
			return fmt.Errorf("%s operation failed: %w", name, ended)
		}
		return serviceerror.NewUnavailablef("%s operation failed: %v", name, err)
	}
	switch {
	case e.is(C.DSQL_INVALID), e.is(rcTooLarge), e.is(C.DSQL_LIMIT) && e.SQLState == "":
		return serviceerror.NewInvalidArgument(e.plain())
	case e.is(C.DSQL_NOT_FOUND):
		return serviceerror.NewNotFound(e.plain())
	}
	if out := outward(ctx, e); out != error(e) {
		return fmt.Errorf("%s operation failed: %w", name, out)
	}
	return serviceerror.NewUnavailablef("%s operation failed: %v", name, e)
}

// plain is what a user who asks wrongly has to know.
func (e *Error) plain() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ": " + e.Hint
}

func (r *visibilityReader) list(
	ctx context.Context, name string, ask *visibilityAsk, pageSize int, token []byte,
) (*store.InternalListExecutionsResponse, error) {
	params, types, err := r.convert(ask)
	if err != nil {
		return nil, err
	}
	if len(params.GroupBy) > 0 {
		return nil, serviceerror.NewInvalidArgumentf("invalid query: %s: 'GROUP BY' clause in a list", query.NotSupportedErrMessage)
	}
	var page C.struct_dsql_visibility_page
	defer C.dsql_visibility_page_fini(&page)
	err = r.run(ctx, name, ask.namespaceID.String(), params.QueryExpr.encode(), token,
		func(input unsafe.Pointer, asked *C.struct_bridge_asked, cancel *C.struct_dsql_cancel, failure *C.struct_dsql_err) C.int {
			return C.bridge_visibility_list(r.engine.c, r.vis, input, asked, C.int64_t(pageSize), cancel, limit(ctx), &page, failure)
		})
	if err != nil {
		return nil, err
	}
	response := &store.InternalListExecutionsResponse{}
	if response.Executions, err = visibilityRuns(&page, types); err != nil {
		return nil, err
	}
	if page.token.len > 0 {
		response.NextPageToken = C.GoBytes(page.token.ptr, C.int(page.token.len))
	}
	return response, nil
}

func (r *visibilityReader) GetWorkflowExecution(
	ctx context.Context, request *manager.GetWorkflowExecutionRequest,
) (*store.InternalGetWorkflowExecutionResponse, error) {
	types, err := r.provider.GetSearchAttributes(r.index, false)
	if err != nil {
		return nil, err
	}
	var page C.struct_dsql_visibility_page
	defer C.dsql_visibility_page_fini(&page)
	err = r.run(ctx, "GetWorkflowExecution", request.NamespaceID.String(), nil, []byte(request.RunID),
		func(input unsafe.Pointer, asked *C.struct_bridge_asked, cancel *C.struct_dsql_cancel, failure *C.struct_dsql_err) C.int {
			return C.bridge_visibility_get(r.engine.c, r.vis, input, asked, cancel, limit(ctx), &page, failure)
		})
	if err != nil {
		return nil, err
	}
	runs, err := visibilityRuns(&page, store.CombineTypeMaps(types, nil))
	if err != nil {
		return nil, err
	}
	return &store.InternalGetWorkflowExecutionResponse{Execution: runs[0]}, nil
}

func (r *visibilityReader) count(
	ctx context.Context, name string, ask *visibilityAsk,
) (*store.InternalCountExecutionsResponse, error) {
	params, types, err := r.convert(ask)
	if err != nil {
		return nil, err
	}
	group := ""
	if len(params.GroupBy) > 0 {
		group = params.GroupBy[0].FieldName
	}
	var counts C.struct_dsql_visibility_counts
	defer C.dsql_visibility_counts_fini(&counts)
	err = r.run(ctx, name, ask.namespaceID.String(), params.QueryExpr.encode(), []byte(group),
		func(input unsafe.Pointer, asked *C.struct_bridge_asked, cancel *C.struct_dsql_cancel, failure *C.struct_dsql_err) C.int {
			return C.bridge_visibility_count(r.engine.c, r.vis, input, asked, cancel, limit(ctx), &counts, failure)
		})
	if err != nil {
		return nil, err
	}
	response := &store.InternalCountExecutionsResponse{Count: int64(counts.total)}
	for _, counted := range unsafe.Slice(counts.groups, counts.group_count) {
		value, err := visibilityGroupValue(group, types, &counted.value)
		if err != nil {
			return nil, err
		}
		response.Groups = append(response.Groups, store.InternalAggregationGroup{
			GroupValues: []*commonpb.Payload{value}, Count: int64(counted.count),
		})
	}
	return response, nil
}

// visibilityGroupValue: a status by its name; runs of no division are those of "".
func visibilityGroupValue(group string, types searchattribute.NameTypeMap, slice *C.struct_dsql_slice) (*commonpb.Payload, error) {
	kind, err := types.GetType(group)
	if err != nil {
		return nil, err
	}
	var value any
	if slice.ptr != nil {
		value = C.GoStringN((*C.char)(slice.ptr), C.int(slice.len))
	} else if group == sadefs.TemporalNamespaceDivision {
		value = ""
	}
	if group == sadefs.ExecutionStatus {
		number, err := strconv.ParseInt(fmt.Sprint(value), 10, 32)
		if err != nil {
			return nil, serviceerror.NewInternalf("the status %v is no number", value)
		}
		value = enumspb.WorkflowExecutionStatus(number).String()
	}
	return sadefs.EncodeValue(value, kind)
}

// A visibilityCursor goes over the members of a page: see struct dsql_visibility_page.
type visibilityCursor struct{ flat }

// time is the zero time for what is not there.
func (c *visibilityCursor) time() time.Time {
	value := c.next()
	if value == nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.NativeEndian.Uint64(value))).UTC()
}

func visibilityRuns(page *C.struct_dsql_visibility_page, types searchattribute.NameTypeMap) ([]*store.InternalExecutionInfo, error) {
	if page.rows == 0 {
		return nil, nil
	}
	cursor := visibilityCursor{flat{C.GoBytes(unsafe.Pointer(page.data), C.int(page.len))}}
	runs := make([]*store.InternalExecutionInfo, page.rows)
	for i := range runs {
		run, err := visibilityRun(&cursor, types)
		if err != nil {
			return nil, err
		}
		runs[i] = run
	}
	return runs, nil
}

// visibilityRun takes the members in the order of struct dsql_visibility_run.
func visibilityRun(c *visibilityCursor, types searchattribute.NameTypeMap) (*store.InternalExecutionInfo, error) {
	run := &store.InternalExecutionInfo{
		RunID: c.text(), WorkflowID: c.text(), TypeName: c.text(),
		StartTime: c.time(), ExecutionTime: c.time(), CloseTime: c.time(),
		Status:        enumspb.WorkflowExecutionStatus(c.i64()),
		HistoryLength: c.i64(), HistorySizeBytes: c.i64(),
		ExecutionDuration: time.Duration(c.i64()), StateTransitionCount: c.i64(),
	}
	memo, encoding := c.next(), c.text()
	run.Memo = persistence.NewDataBlob(memo, encoding)
	run.TaskQueue = c.text()
	attributes := c.next()
	run.ParentWorkflowID, run.ParentRunID, run.RootWorkflowID, run.RootRunID = c.text(), c.text(), c.text(), c.text()
	if run.ExecutionTime.UnixNano() == 0 {
		run.ExecutionTime = run.StartTime
	}
	var err error
	if attributes != nil {
		run.SearchAttributes, err = visibilityAttributes(attributes, types)
	}
	return run, err
}
