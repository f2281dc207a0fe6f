package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// The values of columns that Temporal keeps for partitions and never varies.
const (
	namespacePartition  int32 = 54321
	clusterPartition    int32 = 0
	membershipPartition int32 = 0
	nexusPartition      int32 = 0
)

// Namespaces.

func (q crud) writeNamespace(ctx context.Context, op C.int, r *sqlplugin.NamespaceRow) (sql.Result, error) {
	return q.exec(ctx, op, namespacePartition, r.ID, r.Name, r.IsGlobal, r.Data, r.DataEncoding, r.NotificationVersion)
}

func (q crud) InsertIntoNamespace(ctx context.Context, r *sqlplugin.NamespaceRow) (sql.Result, error) {
	return q.writeNamespace(ctx, C.DSQL_OP_InsertIntoNamespace, r)
}

func (q crud) UpdateNamespace(ctx context.Context, r *sqlplugin.NamespaceRow) (sql.Result, error) {
	return q.writeNamespace(ctx, C.DSQL_OP_UpdateNamespace, r)
}

// deref is NULL for no pointer.
func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func (q crud) SelectFromNamespace(ctx context.Context, f sqlplugin.NamespaceFilter) ([]sqlplugin.NamespaceRow, error) {
	if f.ID != nil && f.Name != nil {
		return nil, serviceerror.NewInternal("either the ID or the name of a namespace, not both")
	}
	a, err := q.query(ctx, C.DSQL_OP_SelectFromNamespace, namespacePartition, deref(f.ID), deref(f.Name),
		deref(f.GreaterThanID), f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.NamespaceRow {
		return sqlplugin.NamespaceRow{
			ID: primitives.UUID(a.bytes()), Name: a.text(), IsGlobal: a.bool(),
			Data: a.bytes(), DataEncoding: a.text(), NotificationVersion: a.i64(),
		}
	})
}

func (q crud) DeleteFromNamespace(ctx context.Context, f sqlplugin.NamespaceFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromNamespace, namespacePartition, deref(f.ID), deref(f.Name))
}

func (q crud) namespaceMetadata(ctx context.Context, op C.int) (*sqlplugin.NamespaceMetadataRow, error) {
	a, err := q.query(ctx, op, namespacePartition)
	return one(a, err, func(a *answer) sqlplugin.NamespaceMetadataRow {
		return sqlplugin.NamespaceMetadataRow{NotificationVersion: a.i64()}
	})
}

func (q crud) LockNamespaceMetadata(ctx context.Context) (*sqlplugin.NamespaceMetadataRow, error) {
	return q.namespaceMetadata(ctx, C.DSQL_OP_LockNamespaceMetadata)
}

func (q crud) SelectFromNamespaceMetadata(ctx context.Context) (*sqlplugin.NamespaceMetadataRow, error) {
	return q.namespaceMetadata(ctx, C.DSQL_OP_SelectFromNamespaceMetadata)
}

func (q crud) UpdateNamespaceMetadata(ctx context.Context, r *sqlplugin.NamespaceMetadataRow) (sql.Result, error) {
	return q.cas(ctx, C.DSQL_OP_UpdateNamespaceMetadata, namespacePartition, r.NotificationVersion)
}

// The cluster and its members.

func (q crud) SaveClusterMetadata(ctx context.Context, r *sqlplugin.ClusterMetadataRow) (sql.Result, error) {
	return q.cas(ctx, C.DSQL_OP_SaveClusterMetadata, clusterPartition, r.ClusterName, r.Version, r.Data, r.DataEncoding)
}

func (q crud) clusterMetadata(ctx context.Context, op C.int, name string) (*sqlplugin.ClusterMetadataRow, error) {
	a, err := q.query(ctx, op, clusterPartition, name)
	return one(a, err, func(a *answer) sqlplugin.ClusterMetadataRow {
		return sqlplugin.ClusterMetadataRow{ClusterName: name, Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) GetClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (*sqlplugin.ClusterMetadataRow, error) {
	return q.clusterMetadata(ctx, C.DSQL_OP_GetClusterMetadata, f.ClusterName)
}

func (q crud) WriteLockGetClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (*sqlplugin.ClusterMetadataRow, error) {
	return q.clusterMetadata(ctx, C.DSQL_OP_WriteLockGetClusterMetadata, f.ClusterName)
}

func (q crud) ListClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) ([]sqlplugin.ClusterMetadataRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_ListClusterMetadata, clusterPartition, optional(f.ClusterName), f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.ClusterMetadataRow {
		return sqlplugin.ClusterMetadataRow{ClusterName: a.text(), Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) DeleteClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteClusterMetadata, clusterPartition, f.ClusterName)
}

func (q crud) GetClusterMembers(ctx context.Context, f *sqlplugin.ClusterMembershipFilter) ([]sqlplugin.ClusterMembershipRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_GetClusterMembers, membershipPartition, optionalBytes(f.HostIDEquals),
		optional(f.RPCAddressEquals), optional(int64(f.RoleEquals)), optional(f.LastHeartbeatAfter),
		optional(f.RecordExpiryAfter), optional(f.SessionStartedAfter), optionalBytes(f.HostIDGreaterThan),
		optional(f.MaxRecordCount))
	return list(a, err, func(a *answer) sqlplugin.ClusterMembershipRow {
		return sqlplugin.ClusterMembershipRow{
			HostID: a.bytes(), RPCAddress: a.text(), RPCPort: uint16(a.i64()), Role: persistence.ServiceType(a.i64()),
			SessionStart: a.time(), LastHeartbeat: a.time(), RecordExpiry: a.time(),
		}
	})
}

func (q crud) UpsertClusterMembership(ctx context.Context, r *sqlplugin.ClusterMembershipRow) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_UpsertClusterMembership, membershipPartition, r.HostID, r.RPCAddress, r.RPCPort,
		int32(r.Role), r.SessionStart, r.LastHeartbeat, r.RecordExpiry)
}

func (q crud) PruneClusterMembership(ctx context.Context, f *sqlplugin.PruneClusterMembershipFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_PruneClusterMembership, membershipPartition, f.PruneRecordsBefore)
}

// Nexus endpoints.

func (q crud) InitializeNexusEndpointsTableVersion(ctx context.Context) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_InitializeNexusEndpointsTableVersion, nexusPartition)
}

func (q crud) IncrementNexusEndpointsTableVersion(ctx context.Context, last int64) (sql.Result, error) {
	return q.cas(ctx, C.DSQL_OP_IncrementNexusEndpointsTableVersion, nexusPartition, last)
}

func (q crud) GetNexusEndpointsTableVersion(ctx context.Context) (int64, error) {
	return q.number(ctx, C.DSQL_OP_GetNexusEndpointsTableVersion, nexusPartition)
}

func (q crud) InsertIntoNexusEndpoints(ctx context.Context, r *sqlplugin.NexusEndpointsRow) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_InsertIntoNexusEndpoints, r.ID, r.Data, r.DataEncoding)
}

func (q crud) UpdateNexusEndpoint(ctx context.Context, r *sqlplugin.NexusEndpointsRow) (sql.Result, error) {
	return q.cas(ctx, C.DSQL_OP_UpdateNexusEndpoint, r.ID, r.Version, r.Data, r.DataEncoding)
}

func nexusRow(a *answer) sqlplugin.NexusEndpointsRow {
	return sqlplugin.NexusEndpointsRow{ID: a.bytes(), Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
}

func (q crud) GetNexusEndpointByID(ctx context.Context, id []byte) (*sqlplugin.NexusEndpointsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_GetNexusEndpointByID, id)
	return one(a, err, nexusRow)
}

func (q crud) ListNexusEndpoints(ctx context.Context, f *sqlplugin.ListNexusEndpointsRequest) ([]sqlplugin.NexusEndpointsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_ListNexusEndpoints, optionalBytes(f.LastID), f.Limit)
	return list(a, err, nexusRow)
}

func (q crud) DeleteFromNexusEndpoints(ctx context.Context, id []byte) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromNexusEndpoints, id)
}
