package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/api/visibilityservice/v1"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// outcome is what a store answers to a query.
type outcome struct {
	failure string // its kind; empty if there is none
	message string
	count   int64
	groups  []string
	runs    []*store.InternalExecutionInfo
	wrong   string // what no store may answer
}

// failed says which kind an error is of: the one that Temporal's clients see.
func failed(err error) outcome {
	var invalid *serviceerror.InvalidArgument
	var unavailable *serviceerror.Unavailable
	failure := fmt.Sprintf("%T", err)
	switch {
	case errors.As(err, &invalid):
		failure = "InvalidArgument"
	case errors.As(err, &unavailable):
		failure = "Unavailable"
	}
	return outcome{failure: failure, message: err.Error()}
}

// panicked is the failure of a store that panics at a query.
const panicked = "panic"

// longest is how long a call may take. It is no measure of speed: a call that takes longer hangs.
const longest = 2 * time.Minute

func (q *query) countOn(s *tried) (*store.InternalCountExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if q.chasm {
		return s.CountChasmExecutions(ctx, &visibilityservice.CountChasmExecutionsRequest{
			ArchetypeId: archetype, NamespaceId: q.namespace, Namespace: "test", Query: q.text(),
		})
	}
	return s.CountWorkflowExecutions(ctx, &manager.CountWorkflowExecutionsRequest{
		NamespaceID: namespace.ID(q.namespace), Namespace: "test", Query: q.text(),
	})
}

func (q *query) pageOn(s *tried, size int, token []byte) (*store.InternalListExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if q.chasm {
		return s.ListChasmExecutions(ctx, &visibilityservice.ListChasmExecutionsRequest{
			ArchetypeId: archetype, NamespaceId: q.namespace, Namespace: "test", Query: q.text(), PageSize: int32(size), NextPageToken: token,
		})
	}
	return s.ListWorkflowExecutions(ctx, &manager.ListWorkflowExecutionsRequestV2{
		NamespaceID: namespace.ID(q.namespace), Namespace: "test", Query: q.text(), PageSize: size, NextPageToken: token,
	})
}

// Of a list with more than listed runs the first are compared and the count; of one of wholly random queries all are, and
// of those that every store must answer. Most of the time would go into lists of nearly all runs.
const (
	listed = 1000
	wholly = 8
)

// compared is how many runs of a list of so many are.
func (q *query) compared(count int) int {
	if q.number == always || q.number%wholly == 0 {
		return count
	}
	return min(count, listed)
}

// ask asks a store. Lists come in pages of this size or, if there would be too many pages of it, of a larger one; of
// the store that is right in a single page, which each list of pages must make up.
func (q *query) ask(s *tried, pages int) (answer outcome) {
	defer func() {
		if p := recover(); p != nil {
			answer = outcome{failure: panicked, message: fmt.Sprint(p)}
		}
	}()
	counted, err := q.countOn(s)
	if q.groupBy != "" {
		if err != nil {
			return failed(err)
		}
		o := outcome{count: counted.Count}
		for _, g := range counted.Groups {
			var values []string
			for _, v := range g.GroupValues {
				values = append(values, string(v.GetMetadata()["type"])+" "+string(v.GetData()))
			}
			o.groups = append(o.groups, fmt.Sprintf("%s: %d", strings.Join(values, ", "), g.Count))
		}
		slices.Sort(o.groups)
		return o
	}
	var o outcome
	if err == nil {
		o.count = counted.Count
	}
	wanted := q.compared(int(o.count))
	size := max(q.page, wanted/pages)
	if pages == 1 {
		size = max(size, wanted+1)
	}
	var token []byte
	for {
		page, failure := q.pageOn(s, size, token)
		if failure != nil {
			f := failed(failure)
			if token != nil || err == nil {
				f.wrong = "the count works, a page of the list does not"
			}
			return f
		}
		if err != nil {
			f := failed(err)
			f.wrong = "the list works, the count does not"
			return f
		}
		o.runs = append(o.runs, page.Executions...)
		switch token = page.NextPageToken; {
		case len(page.Executions) > size:
			o.wrong = fmt.Sprintf("%d runs on a page of %d", len(page.Executions), size)
			return o
		case len(token) == 0:
			if int64(len(o.runs)) != o.count {
				o.wrong = fmt.Sprintf("the count is %d, the list has %d runs", o.count, len(o.runs))
			}
			return o
		case len(page.Executions) == 0:
			o.wrong = "an empty page, but not the last one"
			return o
		case len(o.runs) >= wanted && wanted < int(o.count):
			o.runs = o.runs[:wanted]
			return o
		}
	}
}

// worded is the value of an attribute in words. Temporal's own stores keep the time zone, and read whole numbers as floats.
func worded(payload *commonpb.Payload) string {
	kind := sadefs.GetMetadataType(payload)
	decoded, err := sadefs.DecodeValue(payload, kind, false)
	if kind == typeInt {
		var number float64
		_, err = fmt.Sscan(string(payload.GetData()), &number)
		decoded = number
	}
	if at, is := decoded.(time.Time); is {
		decoded = at.UTC().Format(time.RFC3339Nano)
	}
	if err != nil {
		decoded = err
	}
	return fmt.Sprintf("(%v) %q", kind, fmt.Sprint(decoded))
}

func values(encoded *commonpb.SearchAttributes) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(encoded.GetIndexedFields())) {
		all = append(all, name+" "+worded(encoded.GetIndexedFields()[name]))
	}
	return strings.Join(all, "; ")
}

// same tells without words, of which there would be millions, that two runs have the same ones.
func same(a, b *store.InternalExecutionInfo) bool {
	x, y := a.SearchAttributes.GetIndexedFields(), b.SearchAttributes.GetIndexedFields()
	return a.RunID == b.RunID && a.WorkflowID == b.WorkflowID && a.TypeName == b.TypeName && a.TaskQueue == b.TaskQueue && a.Status == b.Status &&
		a.StartTime.Equal(b.StartTime) && a.ExecutionTime.Equal(b.ExecutionTime) && a.CloseTime.Equal(b.CloseTime) &&
		a.ExecutionDuration == b.ExecutionDuration && a.HistoryLength == b.HistoryLength && a.HistorySizeBytes == b.HistorySizeBytes &&
		a.StateTransitionCount == b.StateTransitionCount && a.Memo.GetEncodingType() == b.Memo.GetEncodingType() &&
		bytes.Equal(a.Memo.GetData(), b.Memo.GetData()) && a.ParentWorkflowID == b.ParentWorkflowID && a.ParentRunID == b.ParentRunID &&
		a.RootWorkflowID == b.RootWorkflowID && a.RootRunID == b.RootRunID &&
		maps.EqualFunc(x, y, func(v, w *commonpb.Payload) bool {
			return bytes.Equal(v.GetData(), w.GetData()) && maps.EqualFunc(v.GetMetadata(), w.GetMetadata(), bytes.Equal) || worded(v) == worded(w)
		})
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// words are everything that a store says about a run.
func describe(e *store.InternalExecutionInfo) string {
	memo := "no memo"
	if len(e.Memo.GetData()) > 0 {
		memo = fmt.Sprintf("memo %v %q", e.Memo.GetEncodingType(), bytes.Clone(e.Memo.GetData()))
	}
	return fmt.Sprintf("run %s of %q, type %q, queue %q, %v, start %s, execution %s, close %s, duration %v, history %d, %d bytes, %d transitions, "+
		"%s, parent %q %q, root %q %q, attributes: %s", e.RunID, e.WorkflowID, e.TypeName, e.TaskQueue, e.Status, at(e.StartTime), at(e.ExecutionTime),
		at(e.CloseTime), e.ExecutionDuration, e.HistoryLength, e.HistorySizeBytes, e.StateTransitionCount, memo, e.ParentWorkflowID, e.ParentRunID,
		e.RootWorkflowID, e.RootRunID, values(e.SearchAttributes))
}

// wanted is wrong with an outcome of a query that every store must answer.
func (q *query) wanted(o outcome) outcome {
	if q.number == always && o.failure != "" {
		o.wrong = "it fails"
	}
	return o
}

// differ says what two outcomes differ in; empty if in nothing.
func differ(reference, subject outcome) string {
	switch {
	case subject.wrong != "":
		return "the subject is wrong: " + subject.wrong + ": " + subject.message
	case reference.wrong != "":
		return "the reference is wrong: " + reference.wrong + ": " + reference.message
	case reference.failure != subject.failure:
		return fmt.Sprintf("failures: %q (%s) and %q (%s)", reference.failure, reference.message, subject.failure, subject.message)
	case !slices.Equal(reference.groups, subject.groups):
		return fmt.Sprintf("groups: %v and %v", reference.groups, subject.groups)
	case reference.count != subject.count:
		return fmt.Sprintf("counts: %d and %d%s", reference.count, subject.count, unshared(reference, subject))
	}
	for i := range min(len(reference.runs), len(subject.runs)) {
		if same(reference.runs[i], subject.runs[i]) {
			continue
		}
		if r, s := describe(reference.runs[i]), describe(subject.runs[i]); r != s {
			return fmt.Sprintf("run %d of %d:\n        %s\n        %s", i, len(reference.runs), r, s)
		}
	}
	return ""
}

// unshared names a run that one list has and the other has not.
func unshared(reference, subject outcome) string {
	has := func(o outcome) map[string]*store.InternalExecutionInfo {
		all := map[string]*store.InternalExecutionInfo{}
		for _, e := range o.runs {
			all[e.RunID] = e
		}
		return all
	}
	r, s := has(reference), has(subject)
	for _, e := range subject.runs {
		if r[e.RunID] == nil {
			return "\n        only the subject has " + describe(e)
		}
	}
	for _, e := range reference.runs {
		if s[e.RunID] == nil {
			return "\n        only the reference has " + describe(e)
		}
	}
	return ""
}
