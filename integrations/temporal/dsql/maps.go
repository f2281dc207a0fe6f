package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// The maps of mutable state: four methods each.

func (q crud) ReplaceIntoActivityInfoMaps(ctx context.Context, rows []sqlplugin.ActivityInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoActivityInfoMaps, rows, func(a *args, r *sqlplugin.ActivityInfoMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.ScheduleID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsAllFilter) ([]sqlplugin.ActivityInfoMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromActivityInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.ActivityInfoMapsRow {
		return sqlplugin.ActivityInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			ScheduleID: a.i64(),
			Data:       a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromActivityInfoMaps, f.ScheduleIDs, func(a *args, key *int64) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromActivityInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoTimerInfoMaps(ctx context.Context, rows []sqlplugin.TimerInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoTimerInfoMaps, rows, func(a *args, r *sqlplugin.TimerInfoMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.TimerID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsAllFilter) ([]sqlplugin.TimerInfoMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromTimerInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.TimerInfoMapsRow {
		return sqlplugin.TimerInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			TimerID: a.text(),
			Data:    a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromTimerInfoMaps, f.TimerIDs, func(a *args, key *string) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromTimerInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoChildExecutionInfoMaps(ctx context.Context, rows []sqlplugin.ChildExecutionInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoChildExecutionInfoMaps, rows, func(a *args, r *sqlplugin.ChildExecutionInfoMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.InitiatedID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsAllFilter) ([]sqlplugin.ChildExecutionInfoMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromChildExecutionInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.ChildExecutionInfoMapsRow {
		return sqlplugin.ChildExecutionInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			InitiatedID: a.i64(),
			Data:        a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromChildExecutionInfoMaps, f.InitiatedIDs, func(a *args, key *int64) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromChildExecutionInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoRequestCancelInfoMaps(ctx context.Context, rows []sqlplugin.RequestCancelInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoRequestCancelInfoMaps, rows, func(a *args, r *sqlplugin.RequestCancelInfoMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.InitiatedID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsAllFilter) ([]sqlplugin.RequestCancelInfoMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromRequestCancelInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.RequestCancelInfoMapsRow {
		return sqlplugin.RequestCancelInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			InitiatedID: a.i64(),
			Data:        a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromRequestCancelInfoMaps, f.InitiatedIDs, func(a *args, key *int64) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromRequestCancelInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoSignalInfoMaps(ctx context.Context, rows []sqlplugin.SignalInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoSignalInfoMaps, rows, func(a *args, r *sqlplugin.SignalInfoMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.InitiatedID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsAllFilter) ([]sqlplugin.SignalInfoMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromSignalInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.SignalInfoMapsRow {
		return sqlplugin.SignalInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			InitiatedID: a.i64(),
			Data:        a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromSignalInfoMaps, f.InitiatedIDs, func(a *args, key *int64) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromSignalInfoMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoSignalsRequestedSets(ctx context.Context, rows []sqlplugin.SignalsRequestedSetsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoSignalsRequestedSets, rows, func(a *args, r *sqlplugin.SignalsRequestedSetsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.SignalID)
	})
}

func (q crud) SelectAllFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsAllFilter) ([]sqlplugin.SignalsRequestedSetsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromSignalsRequestedSets, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.SignalsRequestedSetsRow {
		return sqlplugin.SignalsRequestedSetsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			SignalID: a.text(),
		}
	})
}

func (q crud) DeleteFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromSignalsRequestedSets, f.SignalIDs, func(a *args, key *string) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromSignalsRequestedSets, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}

func (q crud) ReplaceIntoChasmNodeMaps(ctx context.Context, rows []sqlplugin.ChasmNodeMapsRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_ReplaceIntoChasmNodeMaps, rows, func(a *args, r *sqlplugin.ChasmNodeMapsRow) {
		a.row(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.ChasmPath, r.Metadata, r.MetadataEncoding, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsAllFilter) ([]sqlplugin.ChasmNodeMapsRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectAllFromChasmNodeMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
	return list(a, err, func(a *answer) sqlplugin.ChasmNodeMapsRow {
		return sqlplugin.ChasmNodeMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			ChasmPath: a.text(),
			Metadata:  a.bytes(), MetadataEncoding: a.text(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsFilter) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_DeleteFromChasmNodeMaps, f.ChasmPaths, func(a *args, key *string) {
		a.row(f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID, *key)
	})
}

func (q crud) DeleteAllFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsAllFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteAllFromChasmNodeMaps, f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID)
}
