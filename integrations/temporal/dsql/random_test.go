package dsql

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
)

// Sizes of values, around what a column takes and what one part of a larger one holds.
var sizes = []int{1, 100, 899_999, 900_000, 900_001, 1<<20 - 1, 1<<20 + 1, 1_800_000, 1_800_001}

// change is what one step does to a run. Both stores are given the same.
type change struct {
	kind    int // of changeKinds
	info    int // sizes of values
	events  int
	chasm   int    // of the metadata of a CHASM node
	history [4]int // of what a fork writes, each in a transaction of its own
	buffer  int    // of the buffered event; 0 for none
	clear   bool
	put     [mapCount]map[int]int // by map: the keys that are written, and the sizes of their values
	removed [mapCount][]int
	step    int
}

const (
	changeCreate = iota
	changeUpdate
	changeSet
	changeResolve
	changeHistory
	changeDelete
	changeKinds
)

func drawChange(rng *rand.Rand, step int, exists bool) change {
	large := 3 // of a step, so that it fits a transaction
	size := func() int {
		if large == 0 || rng.Intn(4) > 0 {
			return sizes[rng.Intn(2)]
		}
		large--
		return sizes[rng.Intn(len(sizes))]
	}
	c := change{kind: changeCreate, step: step, info: size(), events: size(), chasm: size()}
	if exists {
		c.kind = changeUpdate + rng.Intn(changeDelete-changeUpdate)
		if rng.Intn(8) == 0 {
			c.kind = changeDelete
		}
	}
	for i := range c.history {
		c.history[i] = sizes[rng.Intn(len(sizes))]
	}
	if rng.Intn(2) == 0 {
		c.buffer = size()
	}
	c.clear = rng.Intn(3) == 0
	for which := range mapCount {
		c.put[which] = map[int]int{}
		for key := range 5 {
			switch rng.Intn(4) {
			case 0:
				c.put[which][key] = size()
			case 1:
				c.removed[which] = append(c.removed[which], key)
			}
		}
	}
	return c
}

func (c *change) blob(which, key, size int) *commonpb.DataBlob {
	word := fmt.Sprintf("%d %d %d;", c.step, which, key)
	data := bytes.Repeat([]byte(word), size/len(word)+1)[:size]
	return &commonpb.DataBlob{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: data}
}

func (c *change) numbered(which int) map[int64]*commonpb.DataBlob {
	all := map[int64]*commonpb.DataBlob{}
	for key, size := range c.put[which] {
		all[int64(key)] = c.blob(which, key, size)
	}
	return all
}

func (c *change) numbers(which int) map[int64]struct{} {
	all := map[int64]struct{}{}
	for _, key := range c.removed[which] {
		all[int64(key)] = struct{}{}
	}
	return all
}

func (c *change) named(which int, name string) map[string]struct{} {
	all := map[string]struct{}{}
	for _, key := range c.removed[which] {
		all[fmt.Sprint(name, key)] = struct{}{}
	}
	return all
}

func (c *change) fillSnapshot(s *persistence.InternalWorkflowSnapshot) {
	s.ExecutionInfoBlob = c.blob(-1, 0, c.info)
	s.ActivityInfos, s.ChildExecutionInfos, s.RequestCancelInfos, s.SignalInfos = c.numbered(0), c.numbered(1), c.numbered(2), c.numbered(3)
	s.TimerInfos, s.SignalRequestedIDs = map[string]*commonpb.DataBlob{}, map[string]struct{}{}
	s.ChasmNodes = map[string]persistence.InternalChasmNode{}
	for key, size := range c.put[4] {
		s.TimerInfos[fmt.Sprint("timer-", key)] = c.blob(4, key, size)
	}
	for key := range c.put[5] {
		s.SignalRequestedIDs[fmt.Sprint("signal-", key)] = struct{}{}
	}
	for key, size := range c.put[6] {
		metadata := blob("metadata")
		if key == 0 {
			metadata = c.blob(7, key, c.chasm)
		}
		s.ChasmNodes[fmt.Sprint("node/", key)] = persistence.InternalChasmNode{Metadata: metadata, Data: c.blob(6, key, size)}
	}
}

func (c *change) fillMutation(m *persistence.InternalWorkflowMutation) {
	var s persistence.InternalWorkflowSnapshot
	c.fillSnapshot(&s)
	m.ExecutionInfoBlob = s.ExecutionInfoBlob
	m.UpsertActivityInfos, m.UpsertChildExecutionInfos, m.UpsertRequestCancelInfos, m.UpsertSignalInfos = s.ActivityInfos, s.ChildExecutionInfos, s.RequestCancelInfos, s.SignalInfos
	m.UpsertTimerInfos, m.UpsertSignalRequestedIDs, m.UpsertChasmNodes = s.TimerInfos, s.SignalRequestedIDs, s.ChasmNodes
	m.DeleteActivityInfos, m.DeleteChildExecutionInfos, m.DeleteRequestCancelInfos, m.DeleteSignalInfos = c.numbers(0), c.numbers(1), c.numbers(2), c.numbers(3)
	m.DeleteTimerInfos, m.DeleteSignalRequestedIDs, m.DeleteChasmNodes = c.named(4, "timer-"), c.named(5, "signal-"), c.named(6, "node/")
	m.ClearBufferedEvents, m.NewBufferedEvents = c.clear, nil
	if c.buffer > 0 {
		m.NewBufferedEvents = c.blob(-2, 0, c.buffer)
	}
}

// A life is a workflow in one world, and the branches of its history.
type life struct {
	run      *workflowRun
	branches []*persistence.InternalAppendHistoryNodesRequest
}

func (l *life) events(o *world, c *change, newBranch bool) []*persistence.InternalAppendHistoryNodesRequest {
	all := o.events(newBranch)
	all[0].Node.Events = c.blob(-3, 0, c.events)
	l.branches = append(l.branches, all[0])
	return all
}

func (l *life) apply(o *world, s stores, c *change) error {
	ctx := context.Background()
	switch c.kind {
	case changeCreate:
		l.run = o.newWorkflow()
		request := o.createRequest(l.run, persistence.CreateWorkflowModeBrandNew)
		request.NewWorkflowNewEvents = l.events(o, c, true)
		c.fillSnapshot(&request.NewWorkflowSnapshot)
		_, err := s.executions.CreateWorkflowExecution(ctx, request)
		return err
	case changeUpdate:
		request := o.updateRequest(l.run, persistence.UpdateWorkflowModeUpdateCurrent)
		request.UpdateWorkflowNewEvents, request.UpdateWorkflowMutation.NextEventID = l.events(o, c, false), l.run.next
		c.fillMutation(&request.UpdateWorkflowMutation)
		l.run.version++
		return s.executions.UpdateWorkflowExecution(ctx, request)
	case changeSet:
		request := o.setRequest(l.run)
		c.fillSnapshot(&request.SetWorkflowSnapshot)
		l.run.version++
		return s.executions.SetWorkflowExecution(ctx, request)
	case changeResolve:
		request := o.resolveRequest(l.run, persistence.ConflictResolveWorkflowModeUpdateCurrent)
		request.ResetWorkflowEventsNewEvents = l.events(o, c, false)
		c.fillSnapshot(&request.ResetWorkflowSnapshot)
		l.run.version++
		return s.executions.ConflictResolveWorkflowExecution(ctx, request)
	case changeHistory:
		return l.fork(o, s, c)
	}
	return l.remove(o, s)
}

// fork branches off the last branch, and writes the second node of the new one twice, and a third that may go again.
func (l *life) fork(o *world, s stores, c *change) error {
	ctx, base := context.Background(), l.branches[len(l.branches)-1].BranchInfo
	branch := &persistencespb.HistoryBranch{TreeId: base.TreeId, BranchId: o.id()}
	err := s.executions.ForkHistoryBranch(ctx, &persistence.InternalForkHistoryBranchRequest{
		ShardID: o.shard, ForkBranchInfo: base, NewBranchID: branch.BranchId, ForkNodeID: 2, TreeInfo: c.blob(-4, 0, c.history[0]),
	})
	o.taskID++
	var last *persistence.InternalAppendHistoryNodesRequest
	for i, node := range []persistence.InternalHistoryNode{
		{NodeID: 2, TransactionID: o.taskID, Events: c.blob(-5, 0, c.history[1])},
		{NodeID: 2, TransactionID: o.taskID, Events: c.blob(-5, 1, c.history[2])},
		{NodeID: 3, TransactionID: o.taskID, Events: c.blob(-5, 2, c.history[3])},
	} {
		last = &persistence.InternalAppendHistoryNodesRequest{ShardID: o.shard, BranchInfo: branch, TreeInfo: blob("tree"), Node: node}
		if err == nil {
			err = s.executions.AppendHistoryNodes(ctx, last)
		}
		if i == 0 {
			l.branches = append(l.branches, last)
		}
	}
	if err == nil && c.step%2 == 0 {
		err = s.executions.DeleteHistoryNodes(ctx, &persistence.InternalDeleteHistoryNodesRequest{
			ShardID: o.shard, BranchInfo: branch, NodeID: last.Node.NodeID, TransactionID: last.Node.TransactionID,
		})
	}
	return err
}

// remove deletes everything that the store has of the workflow.
func (l *life) remove(o *world, s stores) error {
	ctx, r := context.Background(), l.run
	err := s.executions.DeleteCurrentWorkflowExecution(ctx, &persistence.DeleteCurrentWorkflowExecutionRequest{
		ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ArchetypeID: chasm.WorkflowArchetypeID,
	})
	if err == nil {
		err = s.executions.DeleteWorkflowExecution(ctx, &persistence.DeleteWorkflowExecutionRequest{
			ShardID: o.shard, NamespaceID: o.namespace, WorkflowID: r.workflow, RunID: r.id, ArchetypeID: chasm.WorkflowArchetypeID,
		})
	}
	for _, branch := range l.branches {
		if err == nil {
			err = s.executions.DeleteHistoryBranch(ctx, &persistence.InternalDeleteHistoryBranchRequest{
				ShardID: o.shard, BranchInfo: branch.BranchInfo,
				BranchRanges: []persistence.InternalDeleteHistoryBranchRange{{BranchId: branch.BranchInfo.BranchId, BeginNodeId: 1}},
			})
		}
	}
	l.run, l.branches = nil, nil
	return err
}

// seen is what the store has of the workflow: its state, and the events of its branches.
func (l *life) seen(o *world, s stores) []any {
	o.runs = nil
	if l.run != nil {
		o.runs = []*workflowRun{l.run}
	}
	all := o.seen(s)
	for _, answer := range all {
		// Signals are a set, and postgres12_pgx leaves the order of buffered events to PostgreSQL.
		if state, ok := answer.(*persistence.InternalGetWorkflowExecutionResponse); ok && state != nil {
			slices.Sort(state.State.SignalRequestedIDs)
			slices.SortFunc(state.State.BufferedEvents, func(a, b *commonpb.DataBlob) int { return bytes.Compare(a.Data, b.Data) })
		}
	}
	for _, branch := range l.branches {
		token, err := serialization.NewSerializer().HistoryBranchToBlob(branch.BranchInfo)
		if err != nil {
			o.t.Fatal(err)
		}
		got, err := s.executions.ReadHistoryBranch(context.Background(), &persistence.InternalReadHistoryBranchRequest{
			ShardID: o.shard, BranchID: branch.BranchInfo.BranchId, BranchToken: token.Data, MinNodeID: 1, MaxNodeID: 100, PageSize: 10,
		})
		all = append(all, got, err)
	}
	return all
}

// different says where two answers differ.
func different(here, there []any) string {
	for i := range here {
		if i >= len(there) || reflect.DeepEqual(here[i], there[i]) {
			continue
		}
		one, isState := here[i].(*persistence.InternalGetWorkflowExecutionResponse)
		other, _ := there[i].(*persistence.InternalGetWorkflowExecutionResponse)
		if !isState || one == nil || other == nil {
			return fmt.Sprintf("answer %d: %.300v, not %.300v", i, here[i], there[i])
		}
		a, b := reflect.ValueOf(*one.State), reflect.ValueOf(*other.State)
		for field := range a.NumField() {
			if !reflect.DeepEqual(a.Field(field).Interface(), b.Field(field).Interface()) {
				return fmt.Sprintf("%s: %.300v, not %.300v", a.Type().Field(field).Name, a.Field(field), b.Field(field))
			}
		}
	}
	return fmt.Sprintf("%d and %d answers", len(here), len(there))
}

// twoWorlds are the store and postgres12_pgx, and where a test draws what both are given from.
func twoWorlds(t *testing.T) (ours, theirs *world, rng *rand.Rand) {
	t.Helper()
	ours = newWorld(t)
	theirs = stockWorld(t, ours)
	if theirs == nil {
		t.Skip("no PostgreSQL to compare with")
	}
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	return ours, theirs, rand.New(rand.NewSource(seed))
}

// Random operations on a few workflows, with values around what a column takes, which become large, small and large
// again. The store holds what postgres12_pgx holds after each, and nothing after everything was deleted.
func TestRandomLivesAsOnPostgreSQL(t *testing.T) {
	o, p, rng := twoWorlds(t)
	var ours, theirs [3]life
	done := [changeKinds]int{}
	for step := range 60 {
		at := rng.Intn(len(ours))
		c := drawChange(rng, step, ours[at].run != nil)
		done[c.kind]++
		if err := ours[at].apply(o, o.scripts, &c); err != nil {
			t.Fatalf("step %d, kind %d: %v", step, c.kind, err)
		}
		if err := theirs[at].apply(p, p.stock, &c); err != nil {
			t.Fatalf("step %d, kind %d, postgres12_pgx: %v", step, c.kind, err)
		}
		if here, there := ours[at].seen(o, o.scripts), theirs[at].seen(p, p.stock); !reflect.DeepEqual(here, there) {
			t.Fatalf("step %d, kind %d: the stores differ: %s", step, c.kind, different(here, there))
		}
	}
	t.Logf("created, updated, set, resolved, forked, deleted: %v", done)
	for i := range ours {
		if ours[i].run != nil {
			if err := ours[i].remove(o, o.scripts); err != nil {
				t.Fatal(err)
			}
		}
	}
	// All that is left of this world are tasks, which are small.
	if said, err := exec.Command(os.Getenv("dsql"), "schema", "verify", "--deep").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
