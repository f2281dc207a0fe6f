package dsql

import (
	"context"
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/persistence"
)

// A snapshot replaces every map of an execution. Which keys it holds is drawn from this many for each map.
const (
	mapCount = 7
	keysEach = 414 // 2,898 rows in all, and the execution's own beside them
)

type drawKey func(which, key int) bool

func worded(word string, which, key int) string { return fmt.Sprintf("%s of %d, %d", word, which, key) }

// filled is a snapshot request with these keys in its maps. Each value names its key and the word.
func (o *world) filled(r *workflowRun, word string, has drawKey) *persistence.InternalSetWorkflowExecutionRequest {
	request := o.setRequest(r)
	s := &request.SetWorkflowSnapshot
	s.Tasks = nil
	numbered := func(which int) map[int64]*commonpb.DataBlob {
		all := map[int64]*commonpb.DataBlob{}
		for key := range keysEach {
			if has(which, key) {
				all[int64(key)] = blob(worded(word, which, key))
			}
		}
		return all
	}
	s.ActivityInfos, s.ChildExecutionInfos, s.RequestCancelInfos, s.SignalInfos = numbered(0), numbered(1), numbered(2), numbered(3)
	s.TimerInfos, s.SignalRequestedIDs = map[string]*commonpb.DataBlob{}, map[string]struct{}{}
	s.ChasmNodes = map[string]persistence.InternalChasmNode{}
	for key := range keysEach {
		if has(4, key) {
			s.TimerInfos[fmt.Sprint("timer-", key)] = blob(worded(word, 4, key))
		}
		if has(5, key) {
			s.SignalRequestedIDs[fmt.Sprint("signal-", key)] = struct{}{}
		}
		if has(6, key) {
			s.ChasmNodes[fmt.Sprint("node/", key)] = persistence.InternalChasmNode{Metadata: blob("metadata"), Data: blob(worded(word, 6, key))}
		}
	}
	return request
}

func every(int, int) bool { return true }

// What is replaced by a snapshot is changed once, so a snapshot of nearly as many rows as a transaction takes replaces
// as many others, in one round trip.
func TestSnapshotChangesEachRowOnce(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	r := o.current()
	set := func(s stores, word string, has drawKey) (int64, error) {
		var err error
		trips := o.w.during(func() { err = s.executions.SetWorkflowExecution(ctx, o.filled(r, word, has)) })
		if err == nil {
			r.version++
		}
		return trips, err
	}
	for _, word := range []string{"first", "second"} {
		if trips, err := set(o.scripts, word, every); err != nil || trips != 1 {
			t.Fatalf("%s: %d round trips: %v", word, trips, err)
		}
	}
	if _, err := set(o.stock, "third", every); err == nil {
		t.Fatal("delete-all and insert fit a transaction: the test shows nothing")
	}
	state, err := o.scripts.executions.GetWorkflowExecution(ctx, &persistence.GetWorkflowExecutionRequest{
		ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id,
	})
	if err != nil || len(state.State.ActivityInfos) != keysEach || string(state.State.ActivityInfos[7].Data) != worded("second", 0, 7) {
		t.Fatalf("%v", err)
	}
	if trips, err := set(o.scripts, "half", func(_, key int) bool { return key%2 == 0 }); err != nil || trips != 1 {
		t.Fatalf("%d round trips: %v", trips, err)
	}
}

// Whatever a snapshot holds, afterwards that is there and nothing else, as after Temporal's own plugin.
func TestSnapshotsLeaveWhatTheyHold(t *testing.T) {
	o := newWorld(t)
	p := stockWorld(t, o)
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	r := o.current()
	var theirs *workflowRun
	if p != nil {
		theirs = p.current()
	}
	for round := range 30 {
		var has [mapCount][keysEach]bool
		for which := range mapCount {
			share := []int{0, 0, 1, 50, 100}[rng.Intn(5)]
			for key := range 40 {
				has[which][key] = rng.Intn(100) < share
			}
		}
		word := fmt.Sprint("round ", round)
		draw := func(which, key int) bool { return has[which][key] }
		// In turns both operations that replace, and one that adds buffered events, which a snapshot deletes.
		change := func(o *world, s stores, r *workflowRun) error {
			ctx, set := context.Background(), o.filled(r, word, draw)
			switch round % 3 {
			case 0:
				return s.executions.SetWorkflowExecution(ctx, set)
			case 1:
				request := o.resolveRequest(r, persistence.ConflictResolveWorkflowModeUpdateCurrent)
				request.ResetWorkflowSnapshot = set.SetWorkflowSnapshot
				return s.executions.ConflictResolveWorkflowExecution(ctx, request)
			}
			request := o.updateRequest(r, persistence.UpdateWorkflowModeUpdateCurrent)
			request.UpdateWorkflowMutation.NextEventID = r.next
			return s.executions.UpdateWorkflowExecution(ctx, request)
		}
		var err error
		if trips := o.w.during(func() { err = change(o, o.scripts, r) }); err != nil || trips != 1 {
			t.Fatalf("round %d: %d round trips: %v", round, trips, err)
		}
		r.version++
		if p == nil {
			continue
		}
		if err := change(p, p.stock, theirs); err != nil {
			t.Fatal(err)
		}
		theirs.version++
		if ours, stock := o.seen(o.scripts), p.seen(p.stock); !reflect.DeepEqual(ours, stock) {
			t.Fatalf("round %d:\n%v\nis there, with postgres12_pgx\n%v", round, ours, stock)
		}
	}
}
