package dsql

import (
	"context"

	"go.temporal.io/server/common/persistence"
)

// Temporal's operations that ask one thing at a time: each has its name in the metrics.

func (s *shardStore) AssertShardOwnership(ctx context.Context, request *persistence.AssertShardOwnershipRequest) error {
	return namedErr(ctx, s.e, "AssertShardOwnership", s.ShardStore.AssertShardOwnership, request)
}

func (s *taskStore) GetTaskQueue(ctx context.Context, request *persistence.InternalGetTaskQueueRequest) (*persistence.InternalGetTaskQueueResponse, error) {
	return named(ctx, s.e, "GetTaskQueue", s.TaskStore.GetTaskQueue, request)
}

func (s *taskStore) ListTaskQueue(ctx context.Context, request *persistence.ListTaskQueueRequest) (*persistence.InternalListTaskQueueResponse, error) {
	return named(ctx, s.e, "ListTaskQueue", s.TaskStore.ListTaskQueue, request)
}

func (s *taskStore) GetTasks(ctx context.Context, request *persistence.GetTasksRequest) (*persistence.InternalGetTasksResponse, error) {
	return named(ctx, s.e, "GetTasks", s.TaskStore.GetTasks, request)
}

func (s *taskStore) GetTaskQueueUserData(ctx context.Context, request *persistence.GetTaskQueueUserDataRequest) (*persistence.InternalGetTaskQueueUserDataResponse, error) {
	return named(ctx, s.e, "GetTaskQueueUserData", s.TaskStore.GetTaskQueueUserData, request)
}

func (s *taskStore) ListTaskQueueUserDataEntries(ctx context.Context, request *persistence.ListTaskQueueUserDataEntriesRequest) (*persistence.InternalListTaskQueueUserDataEntriesResponse, error) {
	return named(ctx, s.e, "ListTaskQueueUserDataEntries", s.TaskStore.ListTaskQueueUserDataEntries, request)
}

func (s *taskStore) GetTaskQueuesByBuildId(ctx context.Context, request *persistence.GetTaskQueuesByBuildIdRequest) ([]string, error) {
	return named(ctx, s.e, "GetTaskQueuesByBuildId", s.TaskStore.GetTaskQueuesByBuildId, request)
}

func (s *taskStore) CountTaskQueuesByBuildId(ctx context.Context, request *persistence.CountTaskQueuesByBuildIdRequest) (int, error) {
	return named(ctx, s.e, "CountTaskQueuesByBuildId", s.TaskStore.CountTaskQueuesByBuildId, request)
}

func (s *metadataStore) GetNamespace(ctx context.Context, request *persistence.GetNamespaceRequest) (*persistence.InternalGetNamespaceResponse, error) {
	return named(ctx, s.e, "GetNamespace", s.MetadataStore.GetNamespace, request)
}

func (s *metadataStore) ListNamespaces(ctx context.Context, request *persistence.InternalListNamespacesRequest) (*persistence.InternalListNamespacesResponse, error) {
	return named(ctx, s.e, "ListNamespaces", s.MetadataStore.ListNamespaces, request)
}

func (s *metadataStore) GetMetadata(ctx context.Context) (*persistence.GetMetadataResponse, error) {
	return operate(ctx, s.e, "GetMetadata", s.MetadataStore.GetMetadata)
}

func (s *clusterMetadataStore) ListClusterMetadata(ctx context.Context, request *persistence.InternalListClusterMetadataRequest) (*persistence.InternalListClusterMetadataResponse, error) {
	return named(ctx, s.e, "ListClusterMetadata", s.ClusterMetadataStore.ListClusterMetadata, request)
}

func (s *clusterMetadataStore) GetClusterMetadata(ctx context.Context, request *persistence.InternalGetClusterMetadataRequest) (*persistence.InternalGetClusterMetadataResponse, error) {
	return named(ctx, s.e, "GetClusterMetadata", s.ClusterMetadataStore.GetClusterMetadata, request)
}

func (s *clusterMetadataStore) GetClusterMembers(ctx context.Context, request *persistence.GetClusterMembersRequest) (*persistence.GetClusterMembersResponse, error) {
	return named(ctx, s.e, "GetClusterMembers", s.ClusterMetadataStore.GetClusterMembers, request)
}

func (s *executionStore) GetCurrentExecution(ctx context.Context, request *persistence.GetCurrentExecutionRequest) (*persistence.InternalGetCurrentExecutionResponse, error) {
	return named(ctx, s.e, "GetCurrentExecution", s.ExecutionStore.GetCurrentExecution, request)
}

func (s *executionStore) ListConcreteExecutions(ctx context.Context, request *persistence.ListConcreteExecutionsRequest) (*persistence.InternalListConcreteExecutionsResponse, error) {
	return named(ctx, s.e, "ListConcreteExecutions", s.ExecutionStore.ListConcreteExecutions, request)
}

func (s *executionStore) GetHistoryTasks(ctx context.Context, request *persistence.GetHistoryTasksRequest) (*persistence.InternalGetHistoryTasksResponse, error) {
	return named(ctx, s.e, "GetHistoryTasks", s.ExecutionStore.GetHistoryTasks, request)
}

func (s *executionStore) CompleteHistoryTask(ctx context.Context, request *persistence.CompleteHistoryTaskRequest) error {
	return namedErr(ctx, s.e, "CompleteHistoryTask", s.ExecutionStore.CompleteHistoryTask, request)
}

func (s *executionStore) GetReplicationTasksFromDLQ(ctx context.Context, request *persistence.GetReplicationTasksFromDLQRequest) (*persistence.InternalGetReplicationTasksFromDLQResponse, error) {
	return named(ctx, s.e, "GetReplicationTasksFromDLQ", s.ExecutionStore.GetReplicationTasksFromDLQ, request)
}

func (s *executionStore) IsReplicationDLQEmpty(ctx context.Context, request *persistence.GetReplicationTasksFromDLQRequest) (bool, error) {
	return named(ctx, s.e, "IsReplicationDLQEmpty", s.ExecutionStore.IsReplicationDLQEmpty, request)
}

func (s *executionStore) ReadHistoryBranch(ctx context.Context, request *persistence.InternalReadHistoryBranchRequest) (*persistence.InternalReadHistoryBranchResponse, error) {
	return named(ctx, s.e, "ReadHistoryBranch", s.ExecutionStore.ReadHistoryBranch, request)
}

func (s *executionStore) GetHistoryTreeContainingBranch(ctx context.Context, request *persistence.InternalGetHistoryTreeContainingBranchRequest) (*persistence.InternalGetHistoryTreeContainingBranchResponse, error) {
	return named(ctx, s.e, "GetHistoryTreeContainingBranch", s.ExecutionStore.GetHistoryTreeContainingBranch, request)
}

func (s *executionStore) GetAllHistoryTreeBranches(ctx context.Context, request *persistence.GetAllHistoryTreeBranchesRequest) (*persistence.InternalGetAllHistoryTreeBranchesResponse, error) {
	return named(ctx, s.e, "GetAllHistoryTreeBranches", s.ExecutionStore.GetAllHistoryTreeBranches, request)
}

func (s *queue) ReadMessages(ctx context.Context, lastMessageID int64, maxCount int) ([]*persistence.QueueMessage, error) {
	return operate(ctx, s.e, "ReadMessages", func(ctx context.Context) ([]*persistence.QueueMessage, error) {
		return s.Queue.ReadMessages(ctx, lastMessageID, maxCount)
	})
}

func (s *queue) GetAckLevels(ctx context.Context) (*persistence.InternalQueueMetadata, error) {
	return operate(ctx, s.e, "GetAckLevels", s.Queue.GetAckLevels)
}

func (s *queue) ReadMessagesFromDLQ(ctx context.Context, firstMessageID int64, lastMessageID int64, pageSize int, pageToken []byte) ([]*persistence.QueueMessage, []byte, error) {
	var next []byte
	messages, err := operate(ctx, s.e, "ReadMessagesFromDLQ", func(ctx context.Context) ([]*persistence.QueueMessage, error) {
		messages, token, err := s.Queue.ReadMessagesFromDLQ(ctx, firstMessageID, lastMessageID, pageSize, pageToken)
		next = token
		return messages, err
	})
	return messages, next, err
}

func (s *queue) GetDLQAckLevels(ctx context.Context) (*persistence.InternalQueueMetadata, error) {
	return operate(ctx, s.e, "GetDLQAckLevels", s.Queue.GetDLQAckLevels)
}

func (s *queueV2) ReadMessages(ctx context.Context, request *persistence.InternalReadMessagesRequest) (*persistence.InternalReadMessagesResponse, error) {
	return named(ctx, s.e, "ReadMessages", s.QueueV2.ReadMessages, request)
}

func (s *queueV2) ListQueues(ctx context.Context, request *persistence.InternalListQueuesRequest) (*persistence.InternalListQueuesResponse, error) {
	return named(ctx, s.e, "ListQueues", s.QueueV2.ListQueues, request)
}

func (s *nexusEndpointStore) GetNexusEndpoint(ctx context.Context, request *persistence.GetNexusEndpointRequest) (*persistence.InternalNexusEndpoint, error) {
	return named(ctx, s.e, "GetNexusEndpoint", s.NexusEndpointStore.GetNexusEndpoint, request)
}
