package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// block is that many bytes: random ones, which nothing compresses, or a text like the JSON of programs. They are the
// same each time.
type block struct {
	Size int
	Text bool
}

var (
	nothing = block{}
	most    = block{Size: 1_900_000} // Temporal takes 2 MiB with all that is around it
	tooLong = block{Size: 2_200_000}
	sizes   = []int{90_000, 300_000, 950_000, 1_200_000, most.Size} // of one column, of one with its row, and of several
)

const mostOfAttribute = 2000 // frontend.searchAttributesSizeOfValueLimit is 2 KiB

func (b block) bytes() []byte {
	bytes := make([]byte, b.Size)
	source := rand.NewChaCha8([32]byte{7})
	if !b.Text {
		_, _ = source.Read(bytes) // never fails
		return bytes
	}
	random := rand.New(source)
	for at := 0; at < b.Size; {
		at += copy(bytes[at:], fmt.Sprintf(`{"order":%d,"customer":"c-%x","state":"shipped","lines":%d,"total":"%d.%02d"},`,
			random.IntN(1e9), random.Uint64(), random.IntN(20), random.IntN(10000), random.IntN(100)))
	}
	return bytes
}

func (b block) same(bytes []byte) error {
	if string(bytes) != string(b.bytes()) {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("%v came back changed, of %d bytes", b, len(bytes)), "Changed", nil)
	}
	return nil
}

func (b block) String() string {
	if b.Text {
		return fmt.Sprintf("a text of %d bytes", b.Size)
	}
	return fmt.Sprintf("%d random bytes", b.Size)
}

// sizes runs a case with all sizes, of both kinds, at the same time.
func (t *tester) sizes(one func(context.Context, block) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var all sync.WaitGroup
		failures := make([]error, 2*len(sizes))
		for i := range failures {
			all.Go(func() {
				b := block{Size: sizes[i/2], Text: i%2 == 1}
				if err := one(ctx, b); err != nil {
					failures[i] = fmt.Errorf("%v: %w", b, err)
				}
			})
		}
		all.Wait()
		return errors.Join(failures...)
	}
}

// swapped starts a workflow that hears one signal, does something to it in between, and lets it end.
func (t *tester) swapped(ctx context.Context, b block, swap func(id string) ([]byte, error)) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Hear, 1, b, time.Duration(0))
	if err != nil {
		return err
	}
	bytes, err := swap(run.GetID())
	if err == nil {
		err = b.same(bytes)
	}
	if err == nil {
		err = t.tell(ctx, run.GetID(), "hear", b.bytes())
	}
	if err != nil {
		return err
	}
	return t.end(ctx, run)
}

func (t *tester) signal(ctx context.Context, b block) error {
	err := t.swapped(ctx, b, func(string) ([]byte, error) { return b.bytes(), nil })
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); refused {
		for _, id := range t.started { // the signal was refused, and the workflow waits
			err = errors.Join(err, t.TerminateWorkflow(ctx, id, "", "enough"))
		}
	}
	return err
}

func (t *tester) query(ctx context.Context, b block) error {
	return t.swapped(ctx, b, func(id string) (bytes []byte, err error) {
		err = again(ctx, func() error {
			value, err := t.QueryWorkflow(ctx, id, "", "swap", b.bytes())
			if err == nil {
				err = value.Get(&bytes)
			}
			return err
		})
		return bytes, err
	})
}

func (t *tester) update(ctx context.Context, b block) error {
	return t.swapped(ctx, b, func(id string) (bytes []byte, err error) {
		update := client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateID: uuid(), UpdateName: "swap", Args: []any{b.bytes()}, WaitForStage: client.WorkflowUpdateStageCompleted,
		}
		err = again(ctx, func() error {
			handle, err := t.UpdateWorkflow(ctx, update)
			if err == nil {
				err = handle.Get(ctx, &bytes)
			}
			return err
		})
		return bytes, err
	})
}

func (t *tester) memo(ctx context.Context, b block) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{Memo: map[string]any{"block": b.bytes()}}, Take, []byte{}, nothing, nothing)
	if err != nil {
		return err
	}
	return t.end(ctx, run)
}

// buffered sends signals while a workflow task is under way, and lets the workflow end.
func (t *tester) buffered(ctx context.Context, count int, b block) error {
	run, err := t.buffer(ctx, count, b)
	if err != nil {
		return err
	}
	return t.end(ctx, run)
}

func (t *tester) buffer(ctx context.Context, count int, b block) (client.WorkflowRun, error) {
	run, err := t.start(ctx, client.StartWorkflowOptions{}, Hear, count, b, 4*time.Second)
	if err != nil {
		return nil, err
	}
	if err := t.working(ctx, run); err != nil {
		return nil, err
	}
	for range count {
		if err := t.tell(ctx, run.GetID(), "hear", b.bytes()); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// working waits until a workflow's task is with a worker.
func (t *tester) working(ctx context.Context, run client.WorkflowRun) error {
	for {
		state, err := t.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		if err != nil || state.GetPendingWorkflowTask().GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Search attributes: three of each of two types, of as many bytes each.
var (
	words = []temporal.SearchAttributeKeyKeyword{
		temporal.NewSearchAttributeKeyKeyword("LargeWord0"), temporal.NewSearchAttributeKeyKeyword("LargeWord1"),
		temporal.NewSearchAttributeKeyKeyword("LargeWord2"),
	}
	texts = []temporal.SearchAttributeKeyString{
		temporal.NewSearchAttributeKeyString("LargeText0"), temporal.NewSearchAttributeKeyString("LargeText1"),
		temporal.NewSearchAttributeKeyString("LargeText2"),
	}
)

func attributes(size int) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, key := range words {
		updates = append(updates, key.ValueSet(strings.Repeat("w", min(size, 255))))
	}
	for _, key := range texts {
		updates = append(updates, key.ValueSet(strings.Repeat("text ", size/5)))
	}
	return temporal.NewSearchAttributes(updates...)
}

func (t *tester) addAttributes(ctx context.Context) error {
	wanted := map[string]enumspb.IndexedValueType{}
	for _, key := range words {
		wanted[key.GetName()] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	for _, key := range texts {
		wanted[key.GetName()] = enumspb.INDEXED_VALUE_TYPE_TEXT
	}
	_, err := t.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: t.namespace, SearchAttributes: wanted,
	})
	if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); exists {
		return nil
	}
	return err
}

// attributes starts a workflow with search attributes, which changes them, and looks for what it finds of them.
func (t *tester) attributes(ctx context.Context, size int) error {
	run, err := t.start(ctx, client.StartWorkflowOptions{TypedSearchAttributes: attributes(size)}, Find, size)
	if err != nil {
		return err
	}
	return t.end(ctx, run)
}
