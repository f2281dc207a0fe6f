package dsql

import (
	"context"
	"fmt"
	"math"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/service/history/tasks"
)

// An owned operation carries the range id of what its caller owns: a shard, or a task queue.
type owned struct {
	name      string // with its mode
	operation string // as the metrics name it
	// prepare makes what it needs and gives the operation, what takes its owner's place, and what shows its rows.
	// The operation is run by one store; the rest is done by another one's.
	prepare func() (run, takeOver func() error, rows func() string)
}

// owner is whoever takes over, and looks.
func (o *world) owned(owner stores) []owned {
	return append(o.shardOwned(owner), o.queueOwned(owner)...)
}

func (o *world) shardOwned(owner stores) []owned {
	ctx, s := context.Background(), o.scripts
	takeOver := func() error {
		from := o.rangeID
		o.rangeID++
		return owner.shards.UpdateShard(ctx, &persistence.InternalUpdateShardRequest{
			ShardID: o.shard, RangeID: from + 1, PreviousRangeID: from, ShardInfo: blob(fmt.Sprint("owner at ", from+1)),
		})
	}
	// Each of them writes tasks, with ids of its own.
	of := func(name, operation string, prepare func() func() error) owned {
		return owned{name, operation, func() (func() error, func() error, func() string) {
			from := o.taskID
			run := prepare()
			return run, takeOver, func() string {
				got, err := owner.executions.GetHistoryTasks(ctx, &persistence.GetHistoryTasksRequest{
					ShardID: o.shard, TaskCategory: tasks.CategoryTransfer, BatchSize: 1000,
					InclusiveMinTaskKey: tasks.NewImmediateKey(from), ExclusiveMaxTaskKey: tasks.NewImmediateKey(math.MaxInt64),
				})
				if err != nil {
					return err.Error()
				}
				return fmt.Sprint(len(got.Tasks), " tasks")
			}
		}}
	}
	var all []owned
	for name, mode := range map[string]persistence.CreateWorkflowMode{
		"brand new": persistence.CreateWorkflowModeBrandNew, "update current": persistence.CreateWorkflowModeUpdateCurrent,
		"bypass": persistence.CreateWorkflowModeBypassCurrent,
	} {
		all = append(all, of("create, "+name, "CreateWorkflowExecution", func() func() error {
			r := o.newWorkflow()
			request := o.createRequest(r, mode)
			if mode == persistence.CreateWorkflowModeUpdateCurrent {
				before := o.current()
				request = o.createRequest(o.newRun(before.workflow), mode)
				request.PreviousRunID, request.PreviousLastWriteVersion = before.id, 11
			}
			return func() error {
				_, err := s.executions.CreateWorkflowExecution(ctx, request)
				return err
			}
		}))
	}
	for name, mode := range map[string]persistence.UpdateWorkflowMode{
		"ignore": persistence.UpdateWorkflowModeIgnoreCurrent, "update current": persistence.UpdateWorkflowModeUpdateCurrent,
		"bypass": persistence.UpdateWorkflowModeBypassCurrent,
	} {
		for _, continues := range []bool{false, true} {
			all = append(all, of(fmt.Sprintf("update, %s, with a new run %v", name, continues), "UpdateWorkflowExecution", func() func() error {
				r := o.current()
				if mode == persistence.UpdateWorkflowModeBypassCurrent {
					r = o.zombie(r)
				}
				request := o.updateRequest(r, mode)
				if continues {
					snapshot := o.snapshot(o.newRun(r.workflow))
					request.NewWorkflowSnapshot, request.NewWorkflowNewEvents = &snapshot, o.events(true)
				}
				return func() error { return s.executions.UpdateWorkflowExecution(ctx, request) }
			}))
		}
	}
	for name, mode := range map[string]persistence.ConflictResolveWorkflowMode{
		"update current": persistence.ConflictResolveWorkflowModeUpdateCurrent, "bypass": persistence.ConflictResolveWorkflowModeBypassCurrent,
	} {
		all = append(all, of("resolve, "+name, "ConflictResolveWorkflowExecution", func() func() error {
			r := o.current()
			if mode == persistence.ConflictResolveWorkflowModeBypassCurrent {
				r = o.zombie(r)
			}
			request := o.resolveRequest(r, mode)
			return func() error { return s.executions.ConflictResolveWorkflowExecution(ctx, request) }
		}))
	}
	return append(all,
		of("set", "SetWorkflowExecution", func() func() error {
			request := o.setRequest(o.current())
			return func() error { return s.executions.SetWorkflowExecution(ctx, request) }
		}),
		of("tasks", "AddHistoryTasks", func() func() error {
			request := o.tasksRequest()
			return func() error { return s.executions.AddHistoryTasks(ctx, request) }
		}),
		owned{"shard", "UpdateShard", func() (func() error, func() error, func() string) {
			request := &persistence.InternalUpdateShardRequest{
				ShardID: o.shard, RangeID: o.rangeID, PreviousRangeID: o.rangeID, ShardInfo: blob("written as " + o.id()),
			}
			return func() error { return s.shards.UpdateShard(ctx, request) }, takeOver, func() string {
				got, err := owner.shards.GetOrCreateShard(ctx, &persistence.InternalGetOrCreateShardRequest{ShardID: o.shard})
				return shown(got, err, func() *commonpb.DataBlob { return got.ShardInfo })
			}
		}},
	)
}

func (o *world) queueOwned(owner stores) []owned {
	ctx, s := context.Background(), o.scripts
	var all []owned
	for _, kind := range queueKinds {
		of := func(name, operation string, prepare func(queue string) func() error) owned {
			return owned{kind.name + ", " + name, operation, func() (func() error, func() error, func() string) {
				queue := o.queue(kind.of)
				if _, err := kind.of(o.stock).CreateTasks(ctx, o.createTasksRequest(queue, 3)); err != nil {
					o.t.Fatal(err)
				}
				request := o.updateQueueRequest(queue, 3)
				request.TaskQueueInfo = blob("of the new owner")
				takeOver := func() error {
					_, err := kind.of(owner).UpdateTaskQueue(ctx, request)
					return err
				}
				return prepare(queue), takeOver, func() string {
					n, err := o.tasksOf(kind, owner, queue)
					if err != nil {
						return err.Error()
					}
					got, err := kind.of(owner).GetTaskQueue(ctx, &persistence.InternalGetTaskQueueRequest{
						NamespaceID: o.namespace, TaskQueue: queue, TaskType: queueType,
					})
					return fmt.Sprint(n, " tasks, ", shown(got, err, func() *commonpb.DataBlob { return got.TaskQueueInfo }))
				}
			}}
		}
		all = append(all,
			of("update", "UpdateTaskQueue", func(queue string) func() error {
				request := o.updateQueueRequest(queue, 3)
				request.RangeID, request.TaskQueueInfo = 3, blob("of the old owner") // as it saves its ack level
				return func() error {
					_, err := kind.of(s).UpdateTaskQueue(ctx, request)
					return err
				}
			}),
			of("create", "CreateTasks", func(queue string) func() error {
				request := o.createTasksRequest(queue, 3)
				return func() error {
					_, err := kind.of(s).CreateTasks(ctx, request)
					return err
				}
			}))
		if kind.min > 0 {
			all = append(all, of("complete", "CompleteTasksLessThan", func(queue string) func() error {
				return func() error {
					_, err := kind.of(s).CompleteTasksLessThan(ctx, &persistence.CompleteTasksLessThanRequest{
						NamespaceID: o.namespace, TaskQueueName: queue, TaskType: queueType, ExclusiveMaxPass: 1,
						ExclusiveMaxTaskID: math.MaxInt64, Limit: 10, ConditionRangeID: 3,
					})
					return err
				}
			}))
		}
	}
	return all
}

func shown[T any](_ T, err error, blob func() *commonpb.DataBlob) string {
	if err != nil {
		return err.Error()
	}
	return string(blob().Data)
}
