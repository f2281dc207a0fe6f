package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"

	enumspb "go.temporal.io/api/enums/v1"
	enumsspb "go.temporal.io/server/api/enums/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// Shards.

func (q crud) InsertIntoShards(ctx context.Context, r *sqlplugin.ShardsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoShards(r.ShardID, r.RangeID, r.Data, r.DataEncoding))
}

func (q crud) UpdateShards(ctx context.Context, r *sqlplugin.ShardsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateShards(r.ShardID, r.RangeID, r.Data, r.DataEncoding))
}

func (q crud) SelectFromShards(ctx context.Context, f sqlplugin.ShardsFilter) (*sqlplugin.ShardsRow, error) {
	a, err := q.query(ctx, new(args).SelectFromShards(f.ShardID))
	return one(a, err, func(a *answer) sqlplugin.ShardsRow {
		return sqlplugin.ShardsRow{ShardID: f.ShardID, RangeID: a.i64(), Data: a.bytes(), DataEncoding: a.text()}
	})
}

func (q crud) ReadLockShards(ctx context.Context, f sqlplugin.ShardsFilter) (int64, error) {
	return q.number(ctx, new(args).ReadLockShards(f.ShardID))
}

func (q crud) WriteLockShards(ctx context.Context, f sqlplugin.ShardsFilter) (int64, error) {
	return q.number(ctx, new(args).WriteLockShards(f.ShardID))
}

// Executions.

func (q crud) InsertIntoExecutions(ctx context.Context, r *sqlplugin.ExecutionsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoExecutions(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.DBRecordVersion,
		r.NextEventID, r.LastWriteVersion, r.Data, r.DataEncoding, r.State, r.StateEncoding))
}

func (q crud) UpdateExecutions(ctx context.Context, r *sqlplugin.ExecutionsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateExecutions(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.DBRecordVersion,
		r.NextEventID, r.LastWriteVersion, r.Data, r.DataEncoding, r.State, r.StateEncoding))
}

func (q crud) SelectFromExecutions(ctx context.Context, f sqlplugin.ExecutionsFilter) (*sqlplugin.ExecutionsRow, error) {
	a, err := q.query(ctx, new(args).SelectFromExecutions(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID))
	return one(a, err, func(a *answer) sqlplugin.ExecutionsRow {
		return sqlplugin.ExecutionsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			DBRecordVersion: a.i64(), NextEventID: a.i64(), LastWriteVersion: a.i64(),
			Data: a.bytes(), DataEncoding: a.text(), State: a.bytes(), StateEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromExecutions(ctx context.Context, f sqlplugin.ExecutionsFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromExecutions(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID))
}

func (q crud) lockExecution(ctx context.Context, in ofExecution, f sqlplugin.ExecutionsFilter) (int64, int64, error) {
	a, err := q.query(ctx, in(new(args), f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID))
	if err != nil {
		return 0, 0, err
	}
	return a.i64(), a.i64(), nil
}

func (q crud) ReadLockExecutions(ctx context.Context, f sqlplugin.ExecutionsFilter) (int64, int64, error) {
	return q.lockExecution(ctx, (*args).ReadLockExecutions, f)
}

func (q crud) WriteLockExecutions(ctx context.Context, f sqlplugin.ExecutionsFilter) (int64, int64, error) {
	return q.lockExecution(ctx, (*args).WriteLockExecutions, f)
}

// Current executions.

// archetype is NULL for workflows, which have a table of their own.
func archetype(id chasm.ArchetypeID) any {
	if id == chasm.WorkflowArchetypeID {
		return nil
	}
	return int64(id)
}

func currentRow(f sqlplugin.CurrentExecutionsFilter) func(*answer) sqlplugin.CurrentExecutionsRow {
	return func(a *answer) sqlplugin.CurrentExecutionsRow {
		return sqlplugin.CurrentExecutionsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, ArchetypeID: f.ArchetypeID,
			RunID: primitives.UUID(a.bytes()), CreateRequestID: a.text(),
			State: enumsspb.WorkflowExecutionState(a.i64()), Status: enumspb.WorkflowExecutionStatus(a.i64()),
			StartTime: a.optionalTime(), LastWriteVersion: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	}
}

func (q crud) queryCurrent(ctx context.Context, in func(*args, int32, primitives.UUID, string, any) *args, f sqlplugin.CurrentExecutionsFilter) (answer, error) {
	return q.query(ctx, in(new(args), f.ShardID, f.NamespaceID, f.WorkflowID, archetype(f.ArchetypeID)))
}

func (q crud) LockCurrentExecutionsJoinExecutions(ctx context.Context, f sqlplugin.CurrentExecutionsFilter) ([]sqlplugin.CurrentExecutionsRow, error) {
	a, err := q.queryCurrent(ctx, (*args).LockCurrentExecutionsJoinExecutions, f)
	return list(a, err, currentRow(f))
}

func (q crud) InsertIntoCurrentExecutions(ctx context.Context, r *sqlplugin.CurrentExecutionsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoCurrentExecutions(r.ShardID, r.NamespaceID, r.WorkflowID, archetype(r.ArchetypeID), r.RunID,
		r.CreateRequestID, int32(r.State), int32(r.Status), r.StartTime, r.LastWriteVersion, r.Data, r.DataEncoding))
}

func (q crud) UpdateCurrentExecutions(ctx context.Context, r *sqlplugin.CurrentExecutionsRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateCurrentExecutions(r.ShardID, r.NamespaceID, r.WorkflowID, archetype(r.ArchetypeID), r.RunID,
		r.CreateRequestID, int32(r.State), int32(r.Status), r.StartTime, r.LastWriteVersion, r.Data, r.DataEncoding))
}

func (q crud) SelectFromCurrentExecutions(ctx context.Context, f sqlplugin.CurrentExecutionsFilter) (*sqlplugin.CurrentExecutionsRow, error) {
	a, err := q.queryCurrent(ctx, (*args).SelectFromCurrentExecutions, f)
	return one(a, err, currentRow(f))
}

func (q crud) DeleteFromCurrentExecutions(ctx context.Context, f sqlplugin.CurrentExecutionsFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromCurrentExecutions(f.ShardID, f.NamespaceID, f.WorkflowID, archetype(f.ArchetypeID), f.RunID))
}

func (q crud) LockCurrentExecutions(ctx context.Context, f sqlplugin.CurrentExecutionsFilter) (*sqlplugin.CurrentExecutionsRow, error) {
	a, err := q.queryCurrent(ctx, (*args).LockCurrentExecutions, f)
	return one(a, err, currentRow(f))
}

// Events. In the database txn_id is negated, which is the store's affair; but Temporal's plugins leave
// the caller's row negated too, once for each call, and callers know it.

func (q crud) InsertIntoHistoryNode(ctx context.Context, r *sqlplugin.HistoryNodeRow) (sql.Result, error) {
	defer func() { r.TxnID = -r.TxnID }()
	return q.exec(ctx, new(args).InsertIntoHistoryNode(r.ShardID, r.TreeID, r.BranchID, r.NodeID, r.TxnID,
		r.PrevTxnID, r.Data, r.DataEncoding))
}

func (q crud) DeleteFromHistoryNode(ctx context.Context, r *sqlplugin.HistoryNodeRow) (sql.Result, error) {
	defer func() { r.TxnID = -r.TxnID }()
	return q.exec(ctx, new(args).DeleteFromHistoryNode(r.ShardID, r.TreeID, r.BranchID, r.NodeID, r.TxnID))
}

func (q crud) RangeSelectFromHistoryNode(ctx context.Context, f sqlplugin.HistoryNodeSelectFilter) ([]sqlplugin.HistoryNodeRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromHistoryNode(f.ShardID, f.TreeID, f.BranchID, f.MinNodeID,
		f.MinTxnID, f.MaxNodeID, f.MaxTxnID, f.PageSize, f.ReverseOrder, f.MetadataOnly))
	return list(a, err, func(a *answer) sqlplugin.HistoryNodeRow {
		return sqlplugin.HistoryNodeRow{
			ShardID: f.ShardID, TreeID: f.TreeID, BranchID: f.BranchID,
			NodeID: a.i64(), PrevTxnID: a.i64(), TxnID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) RangeDeleteFromHistoryNode(ctx context.Context, f sqlplugin.HistoryNodeDeleteFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromHistoryNode(f.ShardID, f.TreeID, f.BranchID, f.MinNodeID))
}

func (q crud) InsertIntoHistoryTree(ctx context.Context, r *sqlplugin.HistoryTreeRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoHistoryTree(r.ShardID, r.TreeID, r.BranchID, r.Data, r.DataEncoding))
}

func (q crud) SelectFromHistoryTree(ctx context.Context, f sqlplugin.HistoryTreeSelectFilter) ([]sqlplugin.HistoryTreeRow, error) {
	a, err := q.query(ctx, new(args).SelectFromHistoryTree(f.ShardID, f.TreeID))
	return list(a, err, func(a *answer) sqlplugin.HistoryTreeRow {
		return sqlplugin.HistoryTreeRow{
			ShardID: f.ShardID, TreeID: f.TreeID,
			BranchID: primitives.UUID(a.bytes()), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromHistoryTree(ctx context.Context, f sqlplugin.HistoryTreeDeleteFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromHistoryTree(f.ShardID, f.TreeID, f.BranchID))
}

func (q crud) PaginateBranchesFromHistoryTree(ctx context.Context, f sqlplugin.HistoryTreeBranchPage) ([]sqlplugin.HistoryTreeRow, error) {
	tree, branch := f.TreeID, f.BranchID
	if tree == nil { // the first page
		tree, branch = make(primitives.UUID, 16), make(primitives.UUID, 16)
	}
	a, err := q.query(ctx, new(args).PaginateBranchesFromHistoryTree(f.ShardID, tree, branch, int64(f.Limit)))
	return list(a, err, func(a *answer) sqlplugin.HistoryTreeRow {
		return sqlplugin.HistoryTreeRow{
			ShardID: a.i32(), TreeID: primitives.UUID(a.bytes()), BranchID: primitives.UUID(a.bytes()),
			Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

// Buffered events. Their ids are the store's.

func (q crud) InsertIntoBufferedEvents(ctx context.Context, rows []sqlplugin.BufferedEventsRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.BufferedEventsRow) {
		a.InsertIntoBufferedEvents(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.Data, r.DataEncoding, nil)
	})
}

func (q crud) SelectFromBufferedEvents(ctx context.Context, f sqlplugin.BufferedEventsFilter) ([]sqlplugin.BufferedEventsRow, error) {
	a, err := q.query(ctx, new(args).SelectFromBufferedEvents(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID))
	return list(a, err, func(a *answer) sqlplugin.BufferedEventsRow {
		row := sqlplugin.BufferedEventsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			Data: a.bytes(), DataEncoding: a.text(),
		}
		_ = a.i64() // its id
		return row
	})
}

func (q crud) DeleteFromBufferedEvents(ctx context.Context, f sqlplugin.BufferedEventsFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromBufferedEvents(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID))
}
