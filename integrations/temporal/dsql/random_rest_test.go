package dsql

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/persistence"
)

// What has blobs beside workflows: task queues and their tasks and user data, queues and their dead letters, namespaces,
// the clusters' metadata, Nexus endpoints. A place is one of these with one name, in one world.
type place interface {
	// change does the step's thing to the place, or something else that its state allows.
	change(c *restStep) error
	// seen is what the store has there.
	seen() []any
	// clear deletes everything.
	clear() error
}

// restStep is what one step does. Both stores are given the same.
type restStep struct {
	change
	delete bool
	size   int
	more   int // a second value
}

func (c *restStep) value() *commonpb.DataBlob { return c.blob(0, 0, c.size) }

// queuePlace is a task queue of one kind, with its tasks.
type queuePlace struct {
	o       *world
	store   persistence.TaskStore
	min     int64 // the pass from which tasks are read
	name    string
	rangeID int64 // 0: there is none
	tasks   []int64
	last    int64
}

func (p *queuePlace) change(c *restStep) error {
	ctx := context.Background()
	switch {
	case p.rangeID == 0:
		p.rangeID = 1
		return p.store.CreateTaskQueue(ctx, &persistence.InternalCreateTaskQueueRequest{
			NamespaceID: p.o.namespace, TaskQueue: p.name, TaskType: queueType, RangeID: p.rangeID, TaskQueueInfo: c.value(),
		})
	case c.delete && len(p.tasks) > 0:
		upTo := p.tasks[len(p.tasks)/2]
		kept := []int64{}
		for _, id := range p.tasks {
			if id >= upTo {
				kept = append(kept, id)
			}
		}
		p.tasks = kept
		_, err := p.store.CompleteTasksLessThan(ctx, &persistence.CompleteTasksLessThanRequest{
			NamespaceID: p.o.namespace, TaskQueueName: p.name, TaskType: queueType, ExclusiveMaxPass: p.min,
			ExclusiveMaxTaskID: upTo, Limit: math.MaxInt32,
		})
		return err
	case c.delete:
		return p.clear()
	case c.step%2 == 0:
		p.rangeID++
		_, err := p.store.UpdateTaskQueue(ctx, &persistence.InternalUpdateTaskQueueRequest{
			NamespaceID: p.o.namespace, TaskQueue: p.name, TaskType: queueType, RangeID: p.rangeID, PrevRangeID: p.rangeID - 1,
			TaskQueueInfo: c.value(),
		})
		return err
	}
	p.last += 2
	p.tasks = append(p.tasks, p.last, p.last+1)
	request := &persistence.InternalCreateTasksRequest{
		NamespaceID: p.o.namespace, TaskQueue: p.name, TaskType: queueType, RangeID: p.rangeID, TaskQueueInfo: c.blob(1, 0, c.more),
		Tasks: []*persistence.InternalCreateTask{
			{TaskPass: 1, TaskId: p.last, Task: c.value()}, {TaskPass: 1, TaskId: p.last + 1, Task: c.blob(2, 0, c.more)},
		},
	}
	// Temporal 1.31 has no such field, and always writes the info.
	if update := reflect.ValueOf(request).Elem().FieldByName("UpdateMetadata"); update.IsValid() {
		update.SetBool(true)
	}
	_, err := p.store.CreateTasks(ctx, request)
	return err
}

func (p *queuePlace) seen() []any {
	info, err := p.store.GetTaskQueue(context.Background(), &persistence.InternalGetTaskQueueRequest{
		NamespaceID: p.o.namespace, TaskQueue: p.name, TaskType: queueType,
	})
	tasks, errTasks := p.store.GetTasks(context.Background(), &persistence.GetTasksRequest{
		NamespaceID: p.o.namespace, TaskQueue: p.name, TaskType: queueType, InclusiveMinPass: p.min,
		ExclusiveMaxTaskID: math.MaxInt64, PageSize: 1000, UseLimit: true,
	})
	var blobs []*commonpb.DataBlob
	if tasks != nil {
		blobs = tasks.Tasks
	}
	return []any{info, typeOf(err), blobs, errTasks}
}

func (p *queuePlace) clear() error {
	if p.rangeID == 0 {
		return nil
	}
	_, err := p.store.CompleteTasksLessThan(context.Background(), &persistence.CompleteTasksLessThanRequest{
		NamespaceID: p.o.namespace, TaskQueueName: p.name, TaskType: queueType, ExclusiveMaxPass: math.MaxInt64 * p.min,
		ExclusiveMaxTaskID: math.MaxInt64, Limit: math.MaxInt32,
	})
	if err == nil {
		err = p.store.DeleteTaskQueue(context.Background(), &persistence.DeleteTaskQueueRequest{
			TaskQueue: &persistence.TaskQueueKey{NamespaceID: p.o.namespace, TaskQueueName: p.name, TaskQueueType: queueType},
			RangeID:   p.rangeID,
		})
	}
	p.rangeID, p.tasks = 0, nil
	return err
}

// userDataPlace is the user data of a task queue, which is never deleted: clear makes it small.
type userDataPlace struct {
	o       *world
	store   persistence.TaskStore
	name    string
	version int64
}

func (p *userDataPlace) write(data *commonpb.DataBlob) error {
	var applied, conflicting bool
	err := p.store.UpdateTaskQueueUserData(context.Background(), &persistence.InternalUpdateTaskQueueUserDataRequest{
		NamespaceID: p.o.namespace,
		Updates: map[string]*persistence.InternalSingleTaskQueueUserDataUpdate{
			p.name: {Version: p.version, UserData: data, Applied: &applied, Conflicting: &conflicting},
		},
	})
	p.version++
	if err == nil && conflicting {
		err = fmt.Errorf("user data at version %d conflicts", p.version-1)
	}
	return err
}

func (p *userDataPlace) change(c *restStep) error { return p.write(c.value()) }

func (p *userDataPlace) clear() error { return p.write(blob("none")) }

func (p *userDataPlace) seen() []any {
	got, err := p.store.GetTaskQueueUserData(context.Background(), &persistence.GetTaskQueueUserDataRequest{NamespaceID: p.o.namespace, TaskQueue: p.name})
	all, errAll := p.store.ListTaskQueueUserDataEntries(context.Background(), &persistence.ListTaskQueueUserDataEntriesRequest{NamespaceID: p.o.namespace, PageSize: 10})
	if errAll != nil {
		return []any{errAll}
	}
	var entries []string
	for _, e := range all.Entries {
		entries = append(entries, fmt.Sprintf("%s at %d: %d bytes, %x", e.TaskQueue, e.Version, len(e.Data.Data), sha256.Sum256(e.Data.Data)))
	}
	slices.Sort(entries) // postgres12_pgx has no order
	return []any{got, typeOf(err), entries, all.NextPageToken, errAll}
}

// messagesPlace is one of the cluster's queues, with its dead letters. The levels of the dead letters are left as they are:
// Temporal's SQL store forgets their version, and can change them once only.
type messagesPlace struct {
	store persistence.Queue
	made  bool
}

func (p *messagesPlace) change(c *restStep) error {
	ctx := context.Background()
	if !p.made {
		p.made = true
		return p.store.Init(ctx, blob("levels"))
	}
	all, dead, err := p.read()
	if err != nil {
		return err
	}
	switch {
	case c.delete && c.step%2 == 0 && len(all) > 0:
		return p.store.DeleteMessagesBefore(ctx, all[len(all)/2].ID)
	case c.delete && len(dead) > 1:
		return p.store.DeleteMessageFromDLQ(ctx, dead[len(dead)/2].ID)
	case c.delete && len(dead) > 0:
		return p.store.RangeDeleteMessagesFromDLQ(ctx, dead[0].ID-1, dead[len(dead)-1].ID)
	case c.step%5 == 0:
		levels, err := p.store.GetAckLevels(ctx)
		if err != nil {
			return err
		}
		levels.Blob = c.value()
		return p.store.UpdateAckLevel(ctx, levels)
	case c.step%2 == 0:
		return p.store.EnqueueMessage(ctx, c.value())
	}
	_, err = p.store.EnqueueMessageToDLQ(ctx, c.value())
	return err
}

func (p *messagesPlace) read() (all, dead []*persistence.QueueMessage, err error) {
	if all, err = p.store.ReadMessages(context.Background(), -1, 1000); err == nil {
		dead, _, err = p.store.ReadMessagesFromDLQ(context.Background(), -1, math.MaxInt64, 1000, nil)
	}
	return all, dead, err
}

func (p *messagesPlace) seen() []any {
	if !p.made {
		return nil
	}
	all, dead, err := p.read()
	levels, errLevels := p.store.GetAckLevels(context.Background())
	ends, errEnds := p.store.GetDLQAckLevels(context.Background())
	return []any{listed(all), listed(dead), err, levels, errLevels, ends, errEnds}
}

// listed are messages without their ids: postgres12_pgx takes the next id from the queues of all types.
func listed(all []*persistence.QueueMessage) []string {
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprintf("%d bytes of %s, %x", len(m.Data), m.Encoding, sha256.Sum256(m.Data)))
	}
	return out
}

func (p *messagesPlace) clear() error {
	ctx := context.Background()
	if !p.made {
		return nil
	}
	err := p.store.DeleteMessagesBefore(ctx, math.MaxInt64)
	if err == nil {
		err = p.store.RangeDeleteMessagesFromDLQ(ctx, -1, math.MaxInt64)
	}
	if levels, read := p.store.GetAckLevels(ctx); err == nil && read == nil {
		levels.Blob = blob("levels")
		err = p.store.UpdateAckLevel(ctx, levels)
	}
	return err
}

// messagesV2Place is a queue of the second kind: dead letters of the history service, for one.
type messagesV2Place struct {
	store persistence.QueueV2
	name  string
	made  bool
}

const typeV2 = persistence.QueueTypeHistoryDLQ

func (p *messagesV2Place) change(c *restStep) error {
	ctx := context.Background()
	if !p.made {
		p.made = true
		_, err := p.store.CreateQueue(ctx, &persistence.InternalCreateQueueRequest{QueueType: typeV2, QueueName: p.name})
		return err
	}
	got, err := p.read()
	if err != nil {
		return err
	}
	// Temporal's store keeps the last message that it is told to delete, to count on from its id, and never deletes it later.
	if n := len(got.Messages); c.delete && n > 1 {
		return p.removeTo(got.Messages[n/2-1].MetaData.ID)
	}
	_, err = p.store.EnqueueMessage(ctx, &persistence.InternalEnqueueMessageRequest{QueueType: typeV2, QueueName: p.name, Blob: c.value()})
	return err
}

func (p *messagesV2Place) read() (*persistence.InternalReadMessagesResponse, error) {
	return p.store.ReadMessages(context.Background(), &persistence.InternalReadMessagesRequest{QueueType: typeV2, QueueName: p.name, PageSize: 1000})
}

func (p *messagesV2Place) removeTo(id int64) error {
	_, err := p.store.RangeDeleteMessages(context.Background(), &persistence.InternalRangeDeleteMessagesRequest{
		QueueType: typeV2, QueueName: p.name, InclusiveMaxMessageMetadata: persistence.MessageMetadata{ID: id},
	})
	return err
}

func (p *messagesV2Place) seen() []any {
	got, err := p.read()
	if got == nil {
		return []any{typeOf(err)}
	}
	return []any{got.Messages, err}
}

func (p *messagesV2Place) clear() error {
	if !p.made {
		return nil
	}
	got, err := p.store.EnqueueMessage(context.Background(), &persistence.InternalEnqueueMessageRequest{QueueType: typeV2, QueueName: p.name, Blob: blob("last")})
	if err != nil {
		return err
	}
	return p.removeTo(got.Metadata.ID)
}

// namespacePlace is a namespace.
type namespacePlace struct {
	store    persistence.MetadataStore
	id, name string
	made     bool
}

func (p *namespacePlace) change(c *restStep) error {
	ctx := context.Background()
	if !p.made {
		p.made = true
		_, err := p.store.CreateNamespace(ctx, &persistence.InternalCreateNamespaceRequest{ID: p.id, Name: p.name, Namespace: c.value()})
		return err
	}
	if c.delete {
		return p.clear()
	}
	version, err := p.store.GetMetadata(ctx)
	if err != nil {
		return err
	}
	update := &persistence.InternalUpdateNamespaceRequest{Id: p.id, Name: p.name, Namespace: c.value(), NotificationVersion: version.NotificationVersion}
	if c.step%3 > 0 {
		return p.store.UpdateNamespace(ctx, update)
	}
	before := p.name
	p.name += "'"
	update.Name = p.name
	return p.store.RenameNamespace(ctx, &persistence.InternalRenameNamespaceRequest{InternalUpdateNamespaceRequest: update, PreviousName: before})
}

// seen leaves out the version, which all namespaces of a cluster share.
func (p *namespacePlace) seen() []any {
	byName, err := p.store.GetNamespace(context.Background(), &persistence.GetNamespaceRequest{Name: p.name})
	byID, errID := p.store.GetNamespace(context.Background(), &persistence.GetNamespaceRequest{ID: p.id})
	if err != nil || errID != nil {
		return []any{typeOf(err), typeOf(errID)}
	}
	return []any{byName.Namespace, byID.Namespace}
}

func (p *namespacePlace) clear() error {
	if !p.made {
		return nil
	}
	p.made = false
	return p.store.DeleteNamespaceByName(context.Background(), &persistence.DeleteNamespaceByNameRequest{Name: p.name})
}

// clusterPlace is the metadata of a cluster.
type clusterPlace struct {
	store   persistence.ClusterMetadataStore
	name    string
	version int64
}

func (p *clusterPlace) change(c *restStep) error {
	if c.delete {
		return p.clear()
	}
	applied, err := p.store.SaveClusterMetadata(context.Background(), &persistence.InternalSaveClusterMetadataRequest{
		ClusterName: p.name, ClusterMetadata: c.value(), Version: p.version,
	})
	p.version++
	if err == nil && !applied {
		err = fmt.Errorf("metadata of %s at version %d was not saved", p.name, p.version-1)
	}
	return err
}

func (p *clusterPlace) seen() []any {
	got, err := p.store.GetClusterMetadata(context.Background(), &persistence.InternalGetClusterMetadataRequest{ClusterName: p.name})
	return []any{got, typeOf(err)}
}

func (p *clusterPlace) clear() error {
	p.version = 0
	return p.store.DeleteClusterMetadata(context.Background(), &persistence.InternalDeleteClusterMetadataRequest{ClusterName: p.name})
}

// endpointPlace is a Nexus endpoint.
type endpointPlace struct {
	store   persistence.NexusEndpointStore
	id      string
	version int64
}

func (p *endpointPlace) table() (int64, error) {
	got, err := p.store.ListNexusEndpoints(context.Background(), &persistence.ListNexusEndpointsRequest{PageSize: 100})
	if err != nil {
		return 0, err
	}
	return got.TableVersion, nil
}

func (p *endpointPlace) change(c *restStep) error {
	if c.delete {
		return p.clear()
	}
	table, err := p.table()
	if err != nil {
		return err
	}
	err = p.store.CreateOrUpdateNexusEndpoint(context.Background(), &persistence.InternalCreateOrUpdateNexusEndpointRequest{
		LastKnownTableVersion: table, Endpoint: persistence.InternalNexusEndpoint{ID: p.id, Version: p.version, Data: c.value()},
	})
	p.version++
	return err
}

func (p *endpointPlace) seen() []any {
	got, err := p.store.GetNexusEndpoint(context.Background(), &persistence.GetNexusEndpointRequest{ID: p.id})
	return []any{got, typeOf(err)}
}

func (p *endpointPlace) clear() error {
	if p.version == 0 {
		return nil
	}
	table, err := p.table()
	if err == nil {
		err = p.store.DeleteNexusEndpoint(context.Background(), &persistence.DeleteNexusEndpointRequest{LastKnownTableVersion: table, ID: p.id})
	}
	p.version = 0
	return err
}

// rowsOf counts the rows of a table.
func rowsOf(t *testing.T, table string) int {
	t.Helper()
	said, err := exec.Command("psql", "-XqAt", "-c", "select count(*) from "+table).Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(said)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// places are two of each kind.
func (o *world) places() map[string]place {
	f := o.factory
	s := storesOf(o.t, f)
	metadata, clusters := made[persistence.MetadataStore](o.t)(f.NewMetadataStore()), made[persistence.ClusterMetadataStore](o.t)(f.NewClusterMetadataStore())
	v2, nexus := made[persistence.QueueV2](o.t)(f.NewQueueV2()), made[persistence.NexusEndpointStore](o.t)(f.NewNexusEndpointStore())
	all := map[string]place{
		// Types that no server uses, so that the queues are this test's own.
		"queue 0": &messagesPlace{store: made[persistence.Queue](o.t)(f.NewQueue(persistence.QueueType(1000 + o.shard%100000*2)))},
	}
	for i := range 2 {
		name := fmt.Sprintf("%s-%d", o.namespace, i)
		for _, kind := range queueKinds {
			all[fmt.Sprint(kind.name, i)] = &queuePlace{o: o, store: kind.of(s), min: kind.min, name: "tasks-" + name, last: 10}
			all[fmt.Sprint(kind.name, " data ", i)] = &userDataPlace{o: o, store: kind.of(s), name: kind.name + "-data-" + name}
		}
		all[fmt.Sprint("queue v2 ", i)] = &messagesV2Place{store: v2, name: "letters-" + name}
		all[fmt.Sprint("namespace ", i)] = &namespacePlace{store: metadata, id: fmt.Sprintf("%s%d", o.namespace[:35], i), name: "name-" + name}
		all[fmt.Sprint("cluster ", i)] = &clusterPlace{store: clusters, name: "cluster-" + name}
		all[fmt.Sprint("endpoint ", i)] = &endpointPlace{store: nexus, id: fmt.Sprintf("%s%d", o.namespace[:35], i)}
	}
	return all
}

// Random changes of what matching, the frontend and the queues write, with values around what a column takes, which become
// large, small and large again. The store holds what postgres12_pgx holds after each, and no part of a large value after
// everything was deleted.
func TestRandomRestAsOnPostgreSQL(t *testing.T) {
	o, p, rng := twoWorlds(t)
	ours, theirs := o.places(), p.places()
	var names []string
	for name := range ours {
		names = append(names, name)
	}
	slices.Sort(names)
	parts := func() int { return rowsOf(t, "large_values") }
	before, most := parts(), 0
	for step := range 150 {
		name := names[rng.Intn(len(names))]
		draw := func() int {
			if rng.Intn(2) == 0 {
				return sizes[rng.Intn(2)]
			}
			return sizes[rng.Intn(len(sizes))]
		}
		c := &restStep{change: change{step: step}, delete: rng.Intn(4) == 0, size: draw(), more: draw()}
		if err := ours[name].change(c); err != nil {
			t.Fatalf("step %d, %s, %+v: %v", step, name, *c, err)
		}
		if err := theirs[name].change(c); err != nil {
			t.Fatalf("step %d, %s, %+v, postgres12_pgx: %v", step, name, *c, err)
		}
		if here, there := ours[name].seen(), theirs[name].seen(); !reflect.DeepEqual(here, there) {
			t.Fatalf("step %d, %s: the stores differ: %s", step, name, different(here, there))
		}
		if step%10 == 9 {
			most = max(most, parts())
		}
	}
	if most == before {
		t.Error("no value was large")
	}
	for _, name := range names {
		if err := ours[name].clear(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if left := parts(); left != before {
		t.Errorf("%d parts of large values, and %d before", left, before)
	}
	if said, err := exec.Command(os.Getenv("dsql"), "schema", "verify", "--deep").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
