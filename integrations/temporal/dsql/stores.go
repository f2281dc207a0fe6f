package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// Temporal's stores. The operations of executions, shards and task queues are one script each, as plan.go says;
// the others that write are run as rerun says. What only reads is a single statement, which libdsql runs again
// by itself (reads.go), or, for a mutable state, a script.

type (
	shardStore struct {
		persistence.ShardStore
		e *engine
	}
	taskStore struct {
		persistence.TaskStore
		e *engine
	}
	metadataStore struct {
		persistence.MetadataStore
		e *engine
	}
	clusterMetadataStore struct {
		persistence.ClusterMetadataStore
		e *engine
	}
	executionStore struct {
		persistence.ExecutionStore
		e *engine
	}
	queue struct {
		persistence.Queue
		e *engine
	}
	queueV2 struct {
		persistence.QueueV2
		e *engine
	}
	nexusEndpointStore struct {
		persistence.NexusEndpointStore
		e *engine
	}
)

func (s *shardStore) GetOrCreateShard(ctx context.Context, request *persistence.InternalGetOrCreateShardRequest) (*persistence.InternalGetOrCreateShardResponse, error) {
	return rerun(ctx, s.e, "GetOrCreateShard", s.ShardStore.GetOrCreateShard, request)
}

func (s *shardStore) UpdateShard(ctx context.Context, request *persistence.InternalUpdateShardRequest) error {
	return scriptedErr(ctx, s.e, "UpdateShard", &plan{shard: &request.PreviousRangeID}, s.ShardStore.UpdateShard, request)
}

func (s *taskStore) CreateTaskQueue(ctx context.Context, request *persistence.InternalCreateTaskQueueRequest) error {
	return rerunErr(ctx, s.e, "CreateTaskQueue", s.TaskStore.CreateTaskQueue, request)
}

func (s *taskStore) UpdateTaskQueue(ctx context.Context, request *persistence.InternalUpdateTaskQueueRequest) (*persistence.UpdateTaskQueueResponse, error) {
	return scripted(ctx, s.e, "UpdateTaskQueue", &plan{queue: &request.PrevRangeID}, s.TaskStore.UpdateTaskQueue, request)
}

func (s *taskStore) DeleteTaskQueue(ctx context.Context, request *persistence.DeleteTaskQueueRequest) error {
	return rerunErr(ctx, s.e, "DeleteTaskQueue", s.TaskStore.DeleteTaskQueue, request)
}

func (s *taskStore) CreateTasks(ctx context.Context, request *persistence.InternalCreateTasksRequest) (*persistence.CreateTasksResponse, error) {
	return scripted(ctx, s.e, "CreateTasks", &plan{queue: &request.RangeID}, s.TaskStore.CreateTasks, request)
}

func (s *taskStore) CompleteTasksLessThan(ctx context.Context, request *persistence.CompleteTasksLessThanRequest) (int, error) {
	if request.ConditionRangeID == 0 { // one statement, which libdsql sends in portions if it must
		return rerun(ctx, s.e, "CompleteTasksLessThan", s.TaskStore.CompleteTasksLessThan, request)
	}
	p := &plan{queue: &request.ConditionRangeID, counts: true, changed: -1}
	n, err := scripted(ctx, s.e, "CompleteTasksLessThan", p, s.TaskStore.CompleteTasksLessThan, request)
	if err == nil && p.changed >= 0 {
		n = int(p.changed)
	}
	return n, err
}

func (s *taskStore) UpdateTaskQueueUserData(ctx context.Context, request *persistence.InternalUpdateTaskQueueUserDataRequest) error {
	return rerunErr(ctx, s.e, "UpdateTaskQueueUserData", s.TaskStore.UpdateTaskQueueUserData, request)
}

func (s *metadataStore) CreateNamespace(ctx context.Context, request *persistence.InternalCreateNamespaceRequest) (*persistence.CreateNamespaceResponse, error) {
	return rerun(ctx, s.e, "CreateNamespace", s.MetadataStore.CreateNamespace, request)
}

func (s *metadataStore) UpdateNamespace(ctx context.Context, request *persistence.InternalUpdateNamespaceRequest) error {
	return rerunErr(ctx, s.e, "UpdateNamespace", s.MetadataStore.UpdateNamespace, request)
}

func (s *metadataStore) RenameNamespace(ctx context.Context, request *persistence.InternalRenameNamespaceRequest) error {
	return rerunErr(ctx, s.e, "RenameNamespace", s.MetadataStore.RenameNamespace, request)
}

func (s *metadataStore) DeleteNamespace(ctx context.Context, request *persistence.DeleteNamespaceRequest) error {
	return rerunErr(ctx, s.e, "DeleteNamespace", s.MetadataStore.DeleteNamespace, request)
}

func (s *metadataStore) DeleteNamespaceByName(ctx context.Context, request *persistence.DeleteNamespaceByNameRequest) error {
	return rerunErr(ctx, s.e, "DeleteNamespaceByName", s.MetadataStore.DeleteNamespaceByName, request)
}

func (s *clusterMetadataStore) SaveClusterMetadata(ctx context.Context, request *persistence.InternalSaveClusterMetadataRequest) (bool, error) {
	return rerun(ctx, s.e, "SaveClusterMetadata", s.ClusterMetadataStore.SaveClusterMetadata, request)
}

func (s *clusterMetadataStore) DeleteClusterMetadata(ctx context.Context, request *persistence.InternalDeleteClusterMetadataRequest) error {
	return rerunErr(ctx, s.e, "DeleteClusterMetadata", s.ClusterMetadataStore.DeleteClusterMetadata, request)
}

func (s *clusterMetadataStore) UpsertClusterMembership(ctx context.Context, request *persistence.UpsertClusterMembershipRequest) error {
	return rerunErr(ctx, s.e, "UpsertClusterMembership", s.ClusterMetadataStore.UpsertClusterMembership, request)
}

func (s *clusterMetadataStore) PruneClusterMembership(ctx context.Context, request *persistence.PruneClusterMembershipRequest) error {
	return rerunErr(ctx, s.e, "PruneClusterMembership", s.ClusterMetadataStore.PruneClusterMembership, request)
}

func (s *executionStore) CreateWorkflowExecution(ctx context.Context, request *persistence.InternalCreateWorkflowExecutionRequest) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	return scripted(ctx, s.e, "CreateWorkflowExecution", foreseeCreate(request), s.ExecutionStore.CreateWorkflowExecution, request)
}

func (s *executionStore) UpdateWorkflowExecution(ctx context.Context, request *persistence.InternalUpdateWorkflowExecutionRequest) error {
	return scriptedErr(ctx, s.e, "UpdateWorkflowExecution", foreseeUpdate(request), s.ExecutionStore.UpdateWorkflowExecution, request)
}

func (s *executionStore) ConflictResolveWorkflowExecution(ctx context.Context, request *persistence.InternalConflictResolveWorkflowExecutionRequest) error {
	return scriptedErr(ctx, s.e, "ConflictResolveWorkflowExecution", foreseeConflictResolve(request), s.ExecutionStore.ConflictResolveWorkflowExecution, request)
}

func (s *executionStore) GetWorkflowExecution(ctx context.Context, request *persistence.GetWorkflowExecutionRequest) (*persistence.InternalGetWorkflowExecutionResponse, error) {
	return operate(ctx, s.e, "GetWorkflowExecution", func(ctx context.Context) (*persistence.InternalGetWorkflowExecutionResponse, error) {
		return readState(ctx, s.e, s.ExecutionStore.GetWorkflowExecution, request)
	})
}

func (s *executionStore) DeleteWorkflowExecution(ctx context.Context, request *persistence.DeleteWorkflowExecutionRequest) error {
	remove := func() error {
		return scriptedErr(ctx, s.e, "DeleteWorkflowExecution", &plan{}, s.ExecutionStore.DeleteWorkflowExecution, request)
	}
	err := remove()
	if _, tooLarge := errors.AsType[*persistence.TransactionSizeLimitError](err); !tooLarge {
		return err
	}
	// More rows than a transaction may change. They go in portions first; nobody looks at the maps of an execution
	// that is about to be deleted, and whoever deletes it again finds fewer.
	if err := deleteMaps(ctx, crud{e: s.e}, request); err != nil {
		return err
	}
	return remove()
}

// deleteMaps deletes what an execution has in the tables of its mutable state, in portions.
func deleteMaps(ctx context.Context, q crud, request *persistence.DeleteWorkflowExecutionRequest) error {
	of := execution{request.ShardID, primitives.MustParseUUID(request.NamespaceID), request.WorkflowID, primitives.MustParseUUID(request.RunID)}
	for _, in := range []ofExecution{
		(*args).DeleteAllFromActivityInfoMaps, (*args).DeleteAllFromTimerInfoMaps, (*args).DeleteAllFromChildExecutionInfoMaps,
		(*args).DeleteAllFromRequestCancelInfoMaps, (*args).DeleteAllFromSignalInfoMaps, (*args).DeleteAllFromSignalsRequestedSets,
		(*args).DeleteAllFromChasmNodeMaps, (*args).DeleteFromBufferedEvents,
	} {
		if _, err := q.deleteAll(ctx, in, of); err != nil {
			return err
		}
	}
	return nil
}

func (s *executionStore) DeleteCurrentWorkflowExecution(ctx context.Context, request *persistence.DeleteCurrentWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "DeleteCurrentWorkflowExecution", s.ExecutionStore.DeleteCurrentWorkflowExecution, request)
}

func (s *executionStore) SetWorkflowExecution(ctx context.Context, request *persistence.InternalSetWorkflowExecutionRequest) error {
	return scriptedErr(ctx, s.e, "SetWorkflowExecution", foreseeSet(request), s.ExecutionStore.SetWorkflowExecution, request)
}

func (s *executionStore) AddHistoryTasks(ctx context.Context, request *persistence.InternalAddHistoryTasksRequest) error {
	return scriptedErr(ctx, s.e, "AddHistoryTasks", &plan{shard: &request.RangeID}, s.ExecutionStore.AddHistoryTasks, request)
}

func (s *executionStore) RangeCompleteHistoryTasks(ctx context.Context, request *persistence.RangeCompleteHistoryTasksRequest) error {
	return rerunErr(ctx, s.e, "RangeCompleteHistoryTasks", s.ExecutionStore.RangeCompleteHistoryTasks, request)
}

func (s *executionStore) PutReplicationTaskToDLQ(ctx context.Context, request *persistence.PutReplicationTaskToDLQRequest) error {
	return rerunErr(ctx, s.e, "PutReplicationTaskToDLQ", s.ExecutionStore.PutReplicationTaskToDLQ, request)
}

func (s *executionStore) DeleteReplicationTaskFromDLQ(ctx context.Context, request *persistence.DeleteReplicationTaskFromDLQRequest) error {
	return rerunErr(ctx, s.e, "DeleteReplicationTaskFromDLQ", s.ExecutionStore.DeleteReplicationTaskFromDLQ, request)
}

func (s *executionStore) RangeDeleteReplicationTaskFromDLQ(ctx context.Context, request *persistence.RangeDeleteReplicationTaskFromDLQRequest) error {
	return rerunErr(ctx, s.e, "RangeDeleteReplicationTaskFromDLQ", s.ExecutionStore.RangeDeleteReplicationTaskFromDLQ, request)
}

func (s *executionStore) AppendHistoryNodes(ctx context.Context, request *persistence.InternalAppendHistoryNodesRequest) error {
	return scriptedErr(ctx, s.e, "AppendHistoryNodes", &plan{}, s.ExecutionStore.AppendHistoryNodes, request)
}

func (s *executionStore) DeleteHistoryNodes(ctx context.Context, request *persistence.InternalDeleteHistoryNodesRequest) error {
	return rerunErr(ctx, s.e, "DeleteHistoryNodes", s.ExecutionStore.DeleteHistoryNodes, request)
}

func (s *executionStore) ForkHistoryBranch(ctx context.Context, request *persistence.InternalForkHistoryBranchRequest) error {
	return rerunErr(ctx, s.e, "ForkHistoryBranch", s.ExecutionStore.ForkHistoryBranch, request)
}

func (s *executionStore) DeleteHistoryBranch(ctx context.Context, request *persistence.InternalDeleteHistoryBranchRequest) error {
	remove := func() error {
		return rerunErr(ctx, s.e, "DeleteHistoryBranch", s.ExecutionStore.DeleteHistoryBranch, request)
	}
	err := remove()
	if _, tooLarge := errors.AsType[*persistence.TransactionSizeLimitError](err); !tooLarge {
		return err
	}
	// More nodes than a transaction may delete. They go in portions first; the branch stays until they are gone, so that
	// whoever deletes it again finds it.
	if err := deleteNodes(ctx, crud{e: s.e}, request); err != nil {
		return err
	}
	return remove()
}

// deleteNodes deletes the nodes of a branch that no other branch has, in portions.
func deleteNodes(ctx context.Context, q crud, request *persistence.InternalDeleteHistoryBranchRequest) error {
	tree, err := primitives.ParseUUID(request.BranchInfo.TreeId)
	for _, part := range request.BranchRanges {
		var branch primitives.UUID
		if err == nil {
			branch, err = primitives.ParseUUID(part.BranchId)
		}
		if err == nil {
			_, err = q.RangeDeleteFromHistoryNode(ctx, sqlplugin.HistoryNodeDeleteFilter{
				ShardID: request.ShardID, TreeID: tree, BranchID: branch, MinNodeID: part.BeginNodeId,
			})
		}
	}
	return err
}

func (s *queue) Init(ctx context.Context, blob *commonpb.DataBlob) error {
	return rerunErr(ctx, s.e, "Init", s.Queue.Init, blob)
}

func (s *queue) EnqueueMessage(ctx context.Context, blob *commonpb.DataBlob) error {
	return rerunErr(ctx, s.e, "EnqueueMessage", s.Queue.EnqueueMessage, blob)
}

func (s *queue) DeleteMessagesBefore(ctx context.Context, messageID int64) error {
	return rerunErr(ctx, s.e, "DeleteMessagesBefore", s.Queue.DeleteMessagesBefore, messageID)
}

func (s *queue) UpdateAckLevel(ctx context.Context, metadata *persistence.InternalQueueMetadata) error {
	return rerunErr(ctx, s.e, "UpdateAckLevel", s.Queue.UpdateAckLevel, metadata)
}

func (s *queue) EnqueueMessageToDLQ(ctx context.Context, blob *commonpb.DataBlob) (int64, error) {
	return rerun(ctx, s.e, "EnqueueMessageToDLQ", s.Queue.EnqueueMessageToDLQ, blob)
}

func (s *queue) DeleteMessageFromDLQ(ctx context.Context, messageID int64) error {
	return rerunErr(ctx, s.e, "DeleteMessageFromDLQ", s.Queue.DeleteMessageFromDLQ, messageID)
}

func (s *queue) RangeDeleteMessagesFromDLQ(ctx context.Context, firstMessageID int64, lastMessageID int64) error {
	remove := func(ctx context.Context, first int64) error {
		return s.Queue.RangeDeleteMessagesFromDLQ(ctx, first, lastMessageID)
	}
	return rerunErr(ctx, s.e, "RangeDeleteMessagesFromDLQ", remove, firstMessageID)
}

func (s *queue) UpdateDLQAckLevel(ctx context.Context, metadata *persistence.InternalQueueMetadata) error {
	return rerunErr(ctx, s.e, "UpdateDLQAckLevel", s.Queue.UpdateDLQAckLevel, metadata)
}

func (s *queueV2) EnqueueMessage(ctx context.Context, request *persistence.InternalEnqueueMessageRequest) (*persistence.InternalEnqueueMessageResponse, error) {
	return rerun(ctx, s.e, "EnqueueMessage", s.QueueV2.EnqueueMessage, request)
}

func (s *queueV2) CreateQueue(ctx context.Context, request *persistence.InternalCreateQueueRequest) (*persistence.InternalCreateQueueResponse, error) {
	return rerun(ctx, s.e, "CreateQueue", s.QueueV2.CreateQueue, request)
}

func (s *queueV2) RangeDeleteMessages(ctx context.Context, request *persistence.InternalRangeDeleteMessagesRequest) (*persistence.InternalRangeDeleteMessagesResponse, error) {
	got, err := rerun(ctx, s.e, "RangeDeleteMessages", s.QueueV2.RangeDeleteMessages, request)
	if !isRefused(err) {
		return got, err
	}
	return s.deletePages(ctx, request)
}

func (s *nexusEndpointStore) CreateOrUpdateNexusEndpoint(ctx context.Context, request *persistence.InternalCreateOrUpdateNexusEndpointRequest) error {
	return rerunErr(ctx, s.e, "CreateOrUpdateNexusEndpoint", s.NexusEndpointStore.CreateOrUpdateNexusEndpoint, request)
}

func (s *nexusEndpointStore) DeleteNexusEndpoint(ctx context.Context, request *persistence.DeleteNexusEndpointRequest) error {
	return rerunErr(ctx, s.e, "DeleteNexusEndpoint", s.NexusEndpointStore.DeleteNexusEndpoint, request)
}

func (s *nexusEndpointStore) ListNexusEndpoints(ctx context.Context, request *persistence.ListNexusEndpointsRequest) (*persistence.InternalListNexusEndpointsResponse, error) {
	return rerun(ctx, s.e, "ListNexusEndpoints", s.NexusEndpointStore.ListNexusEndpoints, request)
}
