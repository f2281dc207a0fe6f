package dsql

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/persistence"
)

// Temporal's stores, with every operation that writes run as rerun says. Operations that only read are
// single statements, which libdsql runs again by itself.

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
	return rerun(ctx, s.e, "GetOrCreateShard", func(ctx context.Context) (*persistence.InternalGetOrCreateShardResponse, error) {
		return s.ShardStore.GetOrCreateShard(ctx, request)
	})
}

func (s *shardStore) UpdateShard(ctx context.Context, request *persistence.InternalUpdateShardRequest) error {
	return rerunErr(ctx, s.e, "UpdateShard", func(ctx context.Context) error {
		return s.ShardStore.UpdateShard(ctx, request)
	})
}

func (s *taskStore) CreateTaskQueue(ctx context.Context, request *persistence.InternalCreateTaskQueueRequest) error {
	return rerunErr(ctx, s.e, "CreateTaskQueue", func(ctx context.Context) error {
		return s.TaskStore.CreateTaskQueue(ctx, request)
	})
}

func (s *taskStore) UpdateTaskQueue(ctx context.Context, request *persistence.InternalUpdateTaskQueueRequest) (*persistence.UpdateTaskQueueResponse, error) {
	return rerun(ctx, s.e, "UpdateTaskQueue", func(ctx context.Context) (*persistence.UpdateTaskQueueResponse, error) {
		return s.TaskStore.UpdateTaskQueue(ctx, request)
	})
}

func (s *taskStore) DeleteTaskQueue(ctx context.Context, request *persistence.DeleteTaskQueueRequest) error {
	return rerunErr(ctx, s.e, "DeleteTaskQueue", func(ctx context.Context) error {
		return s.TaskStore.DeleteTaskQueue(ctx, request)
	})
}

func (s *taskStore) CreateTasks(ctx context.Context, request *persistence.InternalCreateTasksRequest) (*persistence.CreateTasksResponse, error) {
	return rerun(ctx, s.e, "CreateTasks", func(ctx context.Context) (*persistence.CreateTasksResponse, error) {
		return s.TaskStore.CreateTasks(ctx, request)
	})
}

func (s *taskStore) CompleteTasksLessThan(ctx context.Context, request *persistence.CompleteTasksLessThanRequest) (int, error) {
	return rerun(ctx, s.e, "CompleteTasksLessThan", func(ctx context.Context) (int, error) {
		return s.TaskStore.CompleteTasksLessThan(ctx, request)
	})
}

func (s *taskStore) UpdateTaskQueueUserData(ctx context.Context, request *persistence.InternalUpdateTaskQueueUserDataRequest) error {
	return rerunErr(ctx, s.e, "UpdateTaskQueueUserData", func(ctx context.Context) error {
		return s.TaskStore.UpdateTaskQueueUserData(ctx, request)
	})
}

func (s *metadataStore) CreateNamespace(ctx context.Context, request *persistence.InternalCreateNamespaceRequest) (*persistence.CreateNamespaceResponse, error) {
	return rerun(ctx, s.e, "CreateNamespace", func(ctx context.Context) (*persistence.CreateNamespaceResponse, error) {
		return s.MetadataStore.CreateNamespace(ctx, request)
	})
}

func (s *metadataStore) UpdateNamespace(ctx context.Context, request *persistence.InternalUpdateNamespaceRequest) error {
	return rerunErr(ctx, s.e, "UpdateNamespace", func(ctx context.Context) error {
		return s.MetadataStore.UpdateNamespace(ctx, request)
	})
}

func (s *metadataStore) RenameNamespace(ctx context.Context, request *persistence.InternalRenameNamespaceRequest) error {
	return rerunErr(ctx, s.e, "RenameNamespace", func(ctx context.Context) error {
		return s.MetadataStore.RenameNamespace(ctx, request)
	})
}

func (s *metadataStore) DeleteNamespace(ctx context.Context, request *persistence.DeleteNamespaceRequest) error {
	return rerunErr(ctx, s.e, "DeleteNamespace", func(ctx context.Context) error {
		return s.MetadataStore.DeleteNamespace(ctx, request)
	})
}

func (s *metadataStore) DeleteNamespaceByName(ctx context.Context, request *persistence.DeleteNamespaceByNameRequest) error {
	return rerunErr(ctx, s.e, "DeleteNamespaceByName", func(ctx context.Context) error {
		return s.MetadataStore.DeleteNamespaceByName(ctx, request)
	})
}

func (s *clusterMetadataStore) SaveClusterMetadata(ctx context.Context, request *persistence.InternalSaveClusterMetadataRequest) (bool, error) {
	return rerun(ctx, s.e, "SaveClusterMetadata", func(ctx context.Context) (bool, error) {
		return s.ClusterMetadataStore.SaveClusterMetadata(ctx, request)
	})
}

func (s *clusterMetadataStore) DeleteClusterMetadata(ctx context.Context, request *persistence.InternalDeleteClusterMetadataRequest) error {
	return rerunErr(ctx, s.e, "DeleteClusterMetadata", func(ctx context.Context) error {
		return s.ClusterMetadataStore.DeleteClusterMetadata(ctx, request)
	})
}

func (s *clusterMetadataStore) UpsertClusterMembership(ctx context.Context, request *persistence.UpsertClusterMembershipRequest) error {
	return rerunErr(ctx, s.e, "UpsertClusterMembership", func(ctx context.Context) error {
		return s.ClusterMetadataStore.UpsertClusterMembership(ctx, request)
	})
}

func (s *clusterMetadataStore) PruneClusterMembership(ctx context.Context, request *persistence.PruneClusterMembershipRequest) error {
	return rerunErr(ctx, s.e, "PruneClusterMembership", func(ctx context.Context) error {
		return s.ClusterMetadataStore.PruneClusterMembership(ctx, request)
	})
}

func (s *executionStore) CreateWorkflowExecution(ctx context.Context, request *persistence.InternalCreateWorkflowExecutionRequest) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	return rerun(ctx, s.e, "CreateWorkflowExecution", func(ctx context.Context) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
		return s.ExecutionStore.CreateWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) UpdateWorkflowExecution(ctx context.Context, request *persistence.InternalUpdateWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "UpdateWorkflowExecution", func(ctx context.Context) error {
		return s.ExecutionStore.UpdateWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) ConflictResolveWorkflowExecution(ctx context.Context, request *persistence.InternalConflictResolveWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "ConflictResolveWorkflowExecution", func(ctx context.Context) error {
		return s.ExecutionStore.ConflictResolveWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) DeleteWorkflowExecution(ctx context.Context, request *persistence.DeleteWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "DeleteWorkflowExecution", func(ctx context.Context) error {
		return s.ExecutionStore.DeleteWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) DeleteCurrentWorkflowExecution(ctx context.Context, request *persistence.DeleteCurrentWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "DeleteCurrentWorkflowExecution", func(ctx context.Context) error {
		return s.ExecutionStore.DeleteCurrentWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) SetWorkflowExecution(ctx context.Context, request *persistence.InternalSetWorkflowExecutionRequest) error {
	return rerunErr(ctx, s.e, "SetWorkflowExecution", func(ctx context.Context) error {
		return s.ExecutionStore.SetWorkflowExecution(ctx, request)
	})
}

func (s *executionStore) AddHistoryTasks(ctx context.Context, request *persistence.InternalAddHistoryTasksRequest) error {
	return rerunErr(ctx, s.e, "AddHistoryTasks", func(ctx context.Context) error {
		return s.ExecutionStore.AddHistoryTasks(ctx, request)
	})
}

func (s *executionStore) RangeCompleteHistoryTasks(ctx context.Context, request *persistence.RangeCompleteHistoryTasksRequest) error {
	return rerunErr(ctx, s.e, "RangeCompleteHistoryTasks", func(ctx context.Context) error {
		return s.ExecutionStore.RangeCompleteHistoryTasks(ctx, request)
	})
}

func (s *executionStore) PutReplicationTaskToDLQ(ctx context.Context, request *persistence.PutReplicationTaskToDLQRequest) error {
	return rerunErr(ctx, s.e, "PutReplicationTaskToDLQ", func(ctx context.Context) error {
		return s.ExecutionStore.PutReplicationTaskToDLQ(ctx, request)
	})
}

func (s *executionStore) DeleteReplicationTaskFromDLQ(ctx context.Context, request *persistence.DeleteReplicationTaskFromDLQRequest) error {
	return rerunErr(ctx, s.e, "DeleteReplicationTaskFromDLQ", func(ctx context.Context) error {
		return s.ExecutionStore.DeleteReplicationTaskFromDLQ(ctx, request)
	})
}

func (s *executionStore) RangeDeleteReplicationTaskFromDLQ(ctx context.Context, request *persistence.RangeDeleteReplicationTaskFromDLQRequest) error {
	return rerunErr(ctx, s.e, "RangeDeleteReplicationTaskFromDLQ", func(ctx context.Context) error {
		return s.ExecutionStore.RangeDeleteReplicationTaskFromDLQ(ctx, request)
	})
}

func (s *executionStore) AppendHistoryNodes(ctx context.Context, request *persistence.InternalAppendHistoryNodesRequest) error {
	return rerunErr(ctx, s.e, "AppendHistoryNodes", func(ctx context.Context) error {
		return s.ExecutionStore.AppendHistoryNodes(ctx, request)
	})
}

func (s *executionStore) DeleteHistoryNodes(ctx context.Context, request *persistence.InternalDeleteHistoryNodesRequest) error {
	return rerunErr(ctx, s.e, "DeleteHistoryNodes", func(ctx context.Context) error {
		return s.ExecutionStore.DeleteHistoryNodes(ctx, request)
	})
}

func (s *executionStore) ForkHistoryBranch(ctx context.Context, request *persistence.InternalForkHistoryBranchRequest) error {
	return rerunErr(ctx, s.e, "ForkHistoryBranch", func(ctx context.Context) error {
		return s.ExecutionStore.ForkHistoryBranch(ctx, request)
	})
}

func (s *executionStore) DeleteHistoryBranch(ctx context.Context, request *persistence.InternalDeleteHistoryBranchRequest) error {
	return rerunErr(ctx, s.e, "DeleteHistoryBranch", func(ctx context.Context) error {
		return s.ExecutionStore.DeleteHistoryBranch(ctx, request)
	})
}

func (s *queue) Init(ctx context.Context, blob *commonpb.DataBlob) error {
	return rerunErr(ctx, s.e, "Init", func(ctx context.Context) error {
		return s.Queue.Init(ctx, blob)
	})
}

func (s *queue) EnqueueMessage(ctx context.Context, blob *commonpb.DataBlob) error {
	return rerunErr(ctx, s.e, "EnqueueMessage", func(ctx context.Context) error {
		return s.Queue.EnqueueMessage(ctx, blob)
	})
}

func (s *queue) DeleteMessagesBefore(ctx context.Context, messageID int64) error {
	return rerunErr(ctx, s.e, "DeleteMessagesBefore", func(ctx context.Context) error {
		return s.Queue.DeleteMessagesBefore(ctx, messageID)
	})
}

func (s *queue) UpdateAckLevel(ctx context.Context, metadata *persistence.InternalQueueMetadata) error {
	return rerunErr(ctx, s.e, "UpdateAckLevel", func(ctx context.Context) error {
		return s.Queue.UpdateAckLevel(ctx, metadata)
	})
}

func (s *queue) EnqueueMessageToDLQ(ctx context.Context, blob *commonpb.DataBlob) (int64, error) {
	return rerun(ctx, s.e, "EnqueueMessageToDLQ", func(ctx context.Context) (int64, error) {
		return s.Queue.EnqueueMessageToDLQ(ctx, blob)
	})
}

func (s *queue) DeleteMessageFromDLQ(ctx context.Context, messageID int64) error {
	return rerunErr(ctx, s.e, "DeleteMessageFromDLQ", func(ctx context.Context) error {
		return s.Queue.DeleteMessageFromDLQ(ctx, messageID)
	})
}

func (s *queue) RangeDeleteMessagesFromDLQ(ctx context.Context, firstMessageID int64, lastMessageID int64) error {
	return rerunErr(ctx, s.e, "RangeDeleteMessagesFromDLQ", func(ctx context.Context) error {
		return s.Queue.RangeDeleteMessagesFromDLQ(ctx, firstMessageID, lastMessageID)
	})
}

func (s *queue) UpdateDLQAckLevel(ctx context.Context, metadata *persistence.InternalQueueMetadata) error {
	return rerunErr(ctx, s.e, "UpdateDLQAckLevel", func(ctx context.Context) error {
		return s.Queue.UpdateDLQAckLevel(ctx, metadata)
	})
}

func (s *queueV2) EnqueueMessage(ctx context.Context, request *persistence.InternalEnqueueMessageRequest) (*persistence.InternalEnqueueMessageResponse, error) {
	return rerun(ctx, s.e, "EnqueueMessage", func(ctx context.Context) (*persistence.InternalEnqueueMessageResponse, error) {
		return s.QueueV2.EnqueueMessage(ctx, request)
	})
}

func (s *queueV2) CreateQueue(ctx context.Context, request *persistence.InternalCreateQueueRequest) (*persistence.InternalCreateQueueResponse, error) {
	return rerun(ctx, s.e, "CreateQueue", func(ctx context.Context) (*persistence.InternalCreateQueueResponse, error) {
		return s.QueueV2.CreateQueue(ctx, request)
	})
}

func (s *queueV2) RangeDeleteMessages(ctx context.Context, request *persistence.InternalRangeDeleteMessagesRequest) (*persistence.InternalRangeDeleteMessagesResponse, error) {
	return rerun(ctx, s.e, "RangeDeleteMessages", func(ctx context.Context) (*persistence.InternalRangeDeleteMessagesResponse, error) {
		return s.QueueV2.RangeDeleteMessages(ctx, request)
	})
}

func (s *nexusEndpointStore) CreateOrUpdateNexusEndpoint(ctx context.Context, request *persistence.InternalCreateOrUpdateNexusEndpointRequest) error {
	return rerunErr(ctx, s.e, "CreateOrUpdateNexusEndpoint", func(ctx context.Context) error {
		return s.NexusEndpointStore.CreateOrUpdateNexusEndpoint(ctx, request)
	})
}

func (s *nexusEndpointStore) DeleteNexusEndpoint(ctx context.Context, request *persistence.DeleteNexusEndpointRequest) error {
	return rerunErr(ctx, s.e, "DeleteNexusEndpoint", func(ctx context.Context) error {
		return s.NexusEndpointStore.DeleteNexusEndpoint(ctx, request)
	})
}

func (s *nexusEndpointStore) ListNexusEndpoints(ctx context.Context, request *persistence.ListNexusEndpointsRequest) (*persistence.InternalListNexusEndpointsResponse, error) {
	return rerun(ctx, s.e, "ListNexusEndpoints", func(ctx context.Context) (*persistence.InternalListNexusEndpointsResponse, error) {
		return s.NexusEndpointStore.ListNexusEndpoints(ctx, request)
	})
}
