//go:build !temporal131

package dsql

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	replicationspb "go.temporal.io/server/api/replication/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/backoff"
	"go.temporal.io/server/common/clock"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/definition"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/service/history/configs"
	"go.temporal.io/server/service/history/queues"
	"go.temporal.io/server/service/history/replication"
	"go.temporal.io/server/service/history/tasks"
)

// Of namespaces and clusters Temporal's queues want names, for their metrics.
type (
	anyNamespace struct{ namespace.Registry }
	anyCluster   struct{ cluster.Metadata }
)

func (anyNamespace) GetNamespaceByID(namespace.ID) (*namespace.Namespace, error) {
	return nil, errors.New("no namespace")
}
func (anyCluster) GetCurrentClusterName() string { return "active" }

// refusals are the errors of what does not fit, for each kind of caller.
func refusals() map[string]error {
	tooLarge := &Error{Op: "UpdateWorkflowExecution", Message: "refused", SQLState: "54000", rc: rcTooLarge}
	noText := &Error{Op: "UpdateWorkflowExecution", Message: "refused", SQLState: "22021", rc: rcDatabase}
	ownShard := refusal("UpdateWorkflowExecution", tooLarge)
	return map[string]error{
		"too large, of the task's own shard": ownShard,
		"no value, of the task's own shard":  refusal("UpdateWorkflowExecution", noText),
		"of another shard, by RPC":           serviceerror.FromStatus(serviceerror.ToStatus(serviceerror.NewInvalidArgument(ownShard.Error()))),
		"of another store":                   refusal("CreateTasks", tooLarge),
	}
}

// Temporal's own executables: a task of a history queue that is refused is not tried again, and a replication task
// never without an end.
func TestRefusedTasksEnd(t *testing.T) {
	task := &tasks.ActivityTask{WorkflowKey: definition.NewWorkflowKey("namespace", "workflow", "run"), TaskID: 1}
	executable := queues.NewExecutable(0, task, nil, nil, nil, queues.NewNoopPriorityAssigner(), clock.NewRealTimeSource(), anyNamespace{},
		anyCluster{}, nil, func(tasks.Task, bool, *chasm.Registry) string { return "task" }, log.NewNoopLogger(), metrics.NoopMetricsHandler, nil,
		func(p *queues.ExecutableParams) {
			p.DLQEnabled = func() bool { return true }
			p.DLQErrorPattern = func() string { return Refused }
		})
	settings := configs.NewConfig(dynamicconfig.NewNoopCollection(), 1)
	replicated := replication.NewExecutableTask(replication.ProcessToolBox{Config: settings}, 1, "", time.Now(), time.Now(), "source",
		replication.ClusterShardKey{}, &replicationspb.ReplicationTask{})
	most := settings.ReplicationExecutableTaskErrorRetryMaxAttempts()
	for name, err := range refusals() {
		if ended := executable.HandleErr(err); !errors.Is(ended, queues.ErrTerminalTaskFailure) {
			t.Errorf("%s: a task of history goes on with %v", name, ended)
		}
		if replicated.IsRetryableError(err) && (most <= 0 || replicated.RetryPolicy().ComputeNextDelay(0, most, err) != backoff.NoBackoff) {
			t.Errorf("%s: a replication task is tried for ever", name)
		}
	}
	if ended := executable.HandleErr(notApplied(errors.New("busy"))); errors.Is(ended, queues.ErrTerminalTaskFailure) {
		t.Errorf("a task that would pass a little later ends: %v", ended)
	}
}
