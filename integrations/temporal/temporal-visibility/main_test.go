package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

func openedFor(t *testing.T, suffix string) *tried {
	t.Helper()
	s, err := openStore("sqlite:" + t.Name() + suffix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var small = options{seed: 7, runs: 200, queries: 120, only: -1, at: 2}

// Two stores of the same kind answer the same.
func TestSameStores(t *testing.T) {
	var said bytes.Buffer
	if err := diff(&said, small, openedFor(t, "a"), openedFor(t, "b")); err != nil {
		t.Errorf("%v:\n%s", err, &said)
	}
	if !strings.Contains(said.String(), " 0 other differences") {
		t.Errorf("%s", &said)
	}
}

// reversed answers lists that ask for a status in another order.
type reversed struct{ store.VisibilityStore }

func (b reversed) ListWorkflowExecutions(ctx context.Context, request *manager.ListWorkflowExecutionsRequestV2) (*store.InternalListExecutionsResponse, error) {
	page, err := b.VisibilityStore.ListWorkflowExecutions(ctx, request)
	if err == nil && strings.Contains(request.Query, "ExecutionStatus ") {
		slices.Reverse(page.Executions)
	}
	return page, err
}

// forgetful leaves a group out of the counts by status.
type forgetful struct{ store.VisibilityStore }

func (b forgetful) CountWorkflowExecutions(ctx context.Context, request *manager.CountWorkflowExecutionsRequest) (*store.InternalCountExecutionsResponse, error) {
	counted, err := b.VisibilityStore.CountWorkflowExecutions(ctx, request)
	if err == nil && strings.Contains(request.Query, "GROUP BY ExecutionStatus") {
		counted.Groups = slices.DeleteFunc(counted.Groups, func(g store.InternalAggregationGroup) bool {
			return strings.Contains(string(g.GroupValues[0].Data), "Completed")
		})
	}
	return counted, err
}

// foundOf is what the comparison says of a store that answers wrongly.
func foundOf(t *testing.T, wrong func(store.VisibilityStore) store.VisibilityStore) string {
	t.Helper()
	var said bytes.Buffer
	subject := openedFor(t, "b")
	subject.VisibilityStore = wrong(subject.VisibilityStore)
	if err := diff(&said, small, openedFor(t, "a"), subject); err == nil {
		t.Fatalf("nothing is found:\n%s", &said)
	}
	return said.String()
}

// A list in another order is found, and the query that is printed is no larger than it must be.
func TestReversedListIsFound(t *testing.T) {
	found := 0
	said := foundOf(t, func(s store.VisibilityStore) store.VisibilityStore { return reversed{s} })
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "query ") && strings.Contains(line, "ExecutionStatus ") {
			found++
			// The texts of others, without a number, stay as they are.
			if strings.Contains(line, " AND ") && !strings.Contains(line, "BETWEEN") && !strings.HasPrefix(line, "query -") {
				t.Errorf("it could be smaller: %s", line)
			}
		}
	}
	if found == 0 {
		t.Errorf("lists in another order are not found:\n%s", said)
	}
}

// A wrong count is found.
func TestForgottenGroupIsFound(t *testing.T) {
	said := foundOf(t, func(s store.VisibilityStore) store.VisibilityStore { return forgetful{s} })
	if !strings.Contains(said, ": GROUP BY ExecutionStatus\n    groups: ") {
		t.Errorf("the smallest query is 'GROUP BY ExecutionStatus':\n%s", said)
	}
}

// Runs are the same if, and only if, all that is said of them is.
func TestSameIsWhatWordsSay(t *testing.T) {
	s := openedFor(t, "")
	o := small
	if _, err := fill(o, s); err != nil {
		t.Fatal(err)
	}
	listed := func() []*store.InternalExecutionInfo {
		return (&query{namespace: namespaces[len(namespaces)-1], page: 7}).ask(s, 1).runs
	}
	one, other := listed(), listed()
	if len(one) < 50 {
		t.Fatalf("%d runs", len(one))
	}
	for i := range one {
		if !same(one[i], other[i]) {
			t.Errorf("not the same: %s", describe(one[i]))
		}
		if same(one[i], one[(i+1)%len(one)]) {
			t.Errorf("the same as the next one: %s", describe(one[i]))
		}
		other[i].SearchAttributes = one[(i+1)%len(one)].SearchAttributes
		if same(one[i], other[i]) != (describe(one[i]) == describe(other[i])) {
			t.Errorf("with other attributes:\n%s\n%s", describe(one[i]), describe(other[i]))
		}
	}
	// No field can differ without being seen.
	fields := reflect.TypeFor[store.InternalExecutionInfo]()
	for n := range fields.NumField() {
		changed := *one[0]
		field := reflect.ValueOf(&changed).Elem().Field(n)
		switch v := field.Interface().(type) {
		case string:
			field.SetString(v + "x")
		case int64, time.Duration, enumspb.WorkflowExecutionStatus:
			field.SetInt(field.Int() + 1)
		case time.Time:
			field.Set(reflect.ValueOf(v.Add(time.Microsecond)))
		case *commonpb.DataBlob:
			field.Set(reflect.ValueOf(&commonpb.DataBlob{EncodingType: v.GetEncodingType(), Data: append([]byte("x"), v.GetData()...)}))
		case *commonpb.SearchAttributes:
			field.Set(reflect.ValueOf(&commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{"Keyword01": sadefs.MustEncodeValue("x", typeKeyword)}}))
		default:
			t.Fatalf("%s is of a type that is not looked at", fields.Field(n).Name)
		}
		if same(one[0], &changed) {
			t.Errorf("another %s is not seen", fields.Field(n).Name)
		}
	}
}

// Runs and queries come from the seed alone, and not from how many there are.
func TestReproducible(t *testing.T) {
	for i := range 50 {
		a, b := fmt.Sprintf("%+v", writesOf(1, i)), fmt.Sprintf("%+v", writesOf(1, i))
		if pointerless(a) != pointerless(b) || queryOf(1, 100, i).String() != queryOf(1, 100, i).String() {
			t.Errorf("number %d is not always the same", i)
		}
	}
	if queryOf(1, 100, 3).String() == queryOf(2, 100, 3).String() {
		t.Error("the seed does not matter")
	}
}

// pointerless leaves out the addresses in a printed structure.
func pointerless(text string) string {
	fields := strings.Fields(text)
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return strings.Contains(f, ":0x") }), " ")
}

// Every kind of write, operator and type is generated.
func TestEverythingIsGenerated(t *testing.T) {
	kinds, late, operators := map[kind]int{}, 0, map[string]int{}
	for i := range 500 {
		for _, w := range writesOf(1, i) {
			kinds[w.kind]++
			if w.late {
				late++
			}
		}
	}
	if len(kinds) != 4 || late == 0 {
		t.Errorf("kinds of writes: %v, %d late ones", kinds, late)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		n := leaf(r, 1, 100, runColumns)
		for _, c := range runColumns {
			if c.name == n.name {
				operators[c.kind.String()+" "+n.operator]++
			}
		}
	}
	for kind, all := range operated {
		for _, operator := range all {
			if operators[kind.String()+" "+operator] == 0 {
				t.Errorf("%v %s does not come", kind, operator)
			}
		}
	}
}
