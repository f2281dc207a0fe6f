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

func (q crud) InsertIntoNamespace(ctx context.Context, r *sqlplugin.NamespaceRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoNamespace(namespacePartition, r.ID, r.Name, r.IsGlobal, r.Data, r.DataEncoding, r.NotificationVersion))
}

func (q crud) UpdateNamespace(ctx context.Context, r *sqlplugin.NamespaceRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateNamespace(namespacePartition, r.ID, r.Name, r.IsGlobal, r.Data, r.DataEncoding, r.NotificationVersion))
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
	a, err := q.query(ctx, new(args).SelectFromNamespace(namespacePartition, deref(f.ID), deref(f.Name),
		deref(f.GreaterThanID), f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.NamespaceRow {
		return sqlplugin.NamespaceRow{
			ID: primitives.UUID(a.bytes()), Name: a.text(), IsGlobal: a.bool(),
			Data: a.bytes(), DataEncoding: a.text(), NotificationVersion: a.i64(),
		}
	})
}

func (q crud) DeleteFromNamespace(ctx context.Context, f sqlplugin.NamespaceFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromNamespace(namespacePartition, deref(f.ID), deref(f.Name)))
}

func (q crud) namespaceMetadata(ctx context.Context, in *args) (*sqlplugin.NamespaceMetadataRow, error) {
	a, err := q.query(ctx, in)
	return one(a, err, func(a *answer) sqlplugin.NamespaceMetadataRow {
		return sqlplugin.NamespaceMetadataRow{NotificationVersion: a.i64()}
	})
}

func (q crud) LockNamespaceMetadata(ctx context.Context) (*sqlplugin.NamespaceMetadataRow, error) {
	return q.namespaceMetadata(ctx, new(args).LockNamespaceMetadata(namespacePartition))
}

func (q crud) SelectFromNamespaceMetadata(ctx context.Context) (*sqlplugin.NamespaceMetadataRow, error) {
	return q.namespaceMetadata(ctx, new(args).SelectFromNamespaceMetadata(namespacePartition))
}

func (q crud) UpdateNamespaceMetadata(ctx context.Context, r *sqlplugin.NamespaceMetadataRow) (sql.Result, error) {
	return q.cas(ctx, new(args).UpdateNamespaceMetadata(namespacePartition, r.NotificationVersion))
}

// The cluster and its members.

func (q crud) SaveClusterMetadata(ctx context.Context, r *sqlplugin.ClusterMetadataRow) (sql.Result, error) {
	return q.cas(ctx, new(args).SaveClusterMetadata(clusterPartition, r.ClusterName, r.Version, r.Data, r.DataEncoding))
}

func (q crud) clusterMetadata(ctx context.Context, in *args, name string) (*sqlplugin.ClusterMetadataRow, error) {
	a, err := q.query(ctx, in)
	return one(a, err, func(a *answer) sqlplugin.ClusterMetadataRow {
		return sqlplugin.ClusterMetadataRow{ClusterName: name, Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) GetClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (*sqlplugin.ClusterMetadataRow, error) {
	return q.clusterMetadata(ctx, new(args).GetClusterMetadata(clusterPartition, f.ClusterName), f.ClusterName)
}

func (q crud) WriteLockGetClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (*sqlplugin.ClusterMetadataRow, error) {
	return q.clusterMetadata(ctx, new(args).WriteLockGetClusterMetadata(clusterPartition, f.ClusterName), f.ClusterName)
}

func (q crud) ListClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) ([]sqlplugin.ClusterMetadataRow, error) {
	a, err := q.query(ctx, new(args).ListClusterMetadata(clusterPartition, optional(f.ClusterName), f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.ClusterMetadataRow {
		return sqlplugin.ClusterMetadataRow{ClusterName: a.text(), Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) DeleteClusterMetadata(ctx context.Context, f *sqlplugin.ClusterMetadataFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteClusterMetadata(clusterPartition, f.ClusterName))
}

func (q crud) GetClusterMembers(ctx context.Context, f *sqlplugin.ClusterMembershipFilter) ([]sqlplugin.ClusterMembershipRow, error) {
	a, err := q.query(ctx, new(args).GetClusterMembers(membershipPartition, optionalBytes(f.HostIDEquals),
		optional(f.RPCAddressEquals), optional(int64(f.RoleEquals)), optional(f.LastHeartbeatAfter),
		optional(f.RecordExpiryAfter), optional(f.SessionStartedAfter), optionalBytes(f.HostIDGreaterThan),
		optional(f.MaxRecordCount)))
	return list(a, err, func(a *answer) sqlplugin.ClusterMembershipRow {
		return sqlplugin.ClusterMembershipRow{
			HostID: a.bytes(), RPCAddress: a.text(), RPCPort: uint16(a.i64()), Role: persistence.ServiceType(a.i64()),
			SessionStart: a.time(), LastHeartbeat: a.time(), RecordExpiry: a.time(),
		}
	})
}

func (q crud) UpsertClusterMembership(ctx context.Context, r *sqlplugin.ClusterMembershipRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpsertClusterMembership(membershipPartition, r.HostID, r.RPCAddress, int32(r.RPCPort),
		int32(r.Role), r.SessionStart, r.LastHeartbeat, r.RecordExpiry))
}

func (q crud) PruneClusterMembership(ctx context.Context, f *sqlplugin.PruneClusterMembershipFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).PruneClusterMembership(membershipPartition, f.PruneRecordsBefore))
}

// Nexus endpoints.

func (q crud) InitializeNexusEndpointsTableVersion(ctx context.Context) (sql.Result, error) {
	return q.exec(ctx, new(args).InitializeNexusEndpointsTableVersion(nexusPartition))
}

func (q crud) IncrementNexusEndpointsTableVersion(ctx context.Context, last int64) (sql.Result, error) {
	return q.cas(ctx, new(args).IncrementNexusEndpointsTableVersion(nexusPartition, last))
}

func (q crud) GetNexusEndpointsTableVersion(ctx context.Context) (int64, error) {
	return q.number(ctx, new(args).GetNexusEndpointsTableVersion(nexusPartition))
}

func (q crud) InsertIntoNexusEndpoints(ctx context.Context, r *sqlplugin.NexusEndpointsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoNexusEndpoints(r.ID, r.Data, r.DataEncoding))
}

func (q crud) UpdateNexusEndpoint(ctx context.Context, r *sqlplugin.NexusEndpointsRow) (sql.Result, error) {
	return q.cas(ctx, new(args).UpdateNexusEndpoint(r.ID, r.Version, r.Data, r.DataEncoding))
}

func nexusRow(a *answer) sqlplugin.NexusEndpointsRow {
	return sqlplugin.NexusEndpointsRow{ID: a.bytes(), Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
}

func (q crud) GetNexusEndpointByID(ctx context.Context, id []byte) (*sqlplugin.NexusEndpointsRow, error) {
	a, err := q.query(ctx, new(args).GetNexusEndpointByID(id))
	return one(a, err, nexusRow)
}

func (q crud) ListNexusEndpoints(ctx context.Context, f *sqlplugin.ListNexusEndpointsRequest) ([]sqlplugin.NexusEndpointsRow, error) {
	a, err := q.query(ctx, new(args).ListNexusEndpoints(optionalBytes(f.LastID), f.Limit))
	return list(a, err, nexusRow)
}

func (q crud) DeleteFromNexusEndpoints(ctx context.Context, id []byte) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromNexusEndpoints(id))
}
