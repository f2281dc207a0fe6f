package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// The maps of mutable state: four methods each. Temporal has a row and two filters for each map; those of
// one shape share what reads and writes them here.

// execution is the filter for all entries of one execution's map.
type execution struct {
	ShardID     int32
	NamespaceID primitives.UUID
	WorkflowID  string
	RunID       primitives.UUID
}

// ofExecution is the argument list of what is asked of one execution.
type ofExecution = func(*args, int32, primitives.UUID, string, primitives.UUID) *args

func (q crud) selectAll(ctx context.Context, in ofExecution, of execution) (answer, error) {
	return q.query(ctx, in(new(args), of.ShardID, of.NamespaceID, of.WorkflowID, of.RunID))
}

func (q crud) deleteAll(ctx context.Context, in ofExecution, of execution) (sql.Result, error) {
	return q.exec(ctx, in(new(args), of.ShardID, of.NamespaceID, of.WorkflowID, of.RunID))
}

// deleteKeys deletes the entries with these keys.
func deleteKeys[K any](ctx context.Context, q crud, in func(*args, int32, primitives.UUID, string, primitives.UUID, K) *args, of execution, keys []K) (sql.Result, error) {
	return execRows(ctx, q, keys, func(a *args, key *K) {
		in(a, of.ShardID, of.NamespaceID, of.WorkflowID, of.RunID, *key)
	})
}

// initiated is the row of maps whose key is the event that initiated something.
type initiated struct {
	ShardID      int32
	NamespaceID  primitives.UUID
	WorkflowID   string
	RunID        primitives.UUID
	InitiatedID  int64
	Data         []byte
	DataEncoding string
}

type initiatedRow interface {
	sqlplugin.ChildExecutionInfoMapsRow | sqlplugin.RequestCancelInfoMapsRow | sqlplugin.SignalInfoMapsRow
}

func replaceInitiated[R initiatedRow](ctx context.Context, q crud, in func(*args, int32, primitives.UUID, string, primitives.UUID, int64, []byte, any) *args, rows []R) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, row *R) {
		r := initiated(*row)
		in(a, r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.InitiatedID, r.Data, r.DataEncoding)
	})
}

func selectInitiated[R initiatedRow](ctx context.Context, q crud, in ofExecution, of execution) ([]R, error) {
	a, err := q.selectAll(ctx, in, of)
	return list(a, err, func(a *answer) R {
		return R(initiated{
			ShardID: of.ShardID, NamespaceID: of.NamespaceID, WorkflowID: of.WorkflowID, RunID: of.RunID,
			InitiatedID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		})
	})
}

func (q crud) ReplaceIntoActivityInfoMaps(ctx context.Context, rows []sqlplugin.ActivityInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.ActivityInfoMapsRow) {
		a.ReplaceIntoActivityInfoMaps(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.ScheduleID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsAllFilter) ([]sqlplugin.ActivityInfoMapsRow, error) {
	a, err := q.selectAll(ctx, (*args).SelectAllFromActivityInfoMaps, execution(f))
	return list(a, err, func(a *answer) sqlplugin.ActivityInfoMapsRow {
		return sqlplugin.ActivityInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			ScheduleID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromActivityInfoMaps, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.ScheduleIDs)
}

func (q crud) DeleteAllFromActivityInfoMaps(ctx context.Context, f sqlplugin.ActivityInfoMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromActivityInfoMaps, execution(f))
}

func (q crud) ReplaceIntoTimerInfoMaps(ctx context.Context, rows []sqlplugin.TimerInfoMapsRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.TimerInfoMapsRow) {
		a.ReplaceIntoTimerInfoMaps(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.TimerID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsAllFilter) ([]sqlplugin.TimerInfoMapsRow, error) {
	a, err := q.selectAll(ctx, (*args).SelectAllFromTimerInfoMaps, execution(f))
	return list(a, err, func(a *answer) sqlplugin.TimerInfoMapsRow {
		return sqlplugin.TimerInfoMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			TimerID: a.text(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromTimerInfoMaps, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.TimerIDs)
}

func (q crud) DeleteAllFromTimerInfoMaps(ctx context.Context, f sqlplugin.TimerInfoMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromTimerInfoMaps, execution(f))
}

func (q crud) ReplaceIntoChildExecutionInfoMaps(ctx context.Context, rows []sqlplugin.ChildExecutionInfoMapsRow) (sql.Result, error) {
	return replaceInitiated(ctx, q, (*args).ReplaceIntoChildExecutionInfoMaps, rows)
}

func (q crud) SelectAllFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsAllFilter) ([]sqlplugin.ChildExecutionInfoMapsRow, error) {
	return selectInitiated[sqlplugin.ChildExecutionInfoMapsRow](ctx, q, (*args).SelectAllFromChildExecutionInfoMaps, execution(f))
}

func (q crud) DeleteFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromChildExecutionInfoMaps, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.InitiatedIDs)
}

func (q crud) DeleteAllFromChildExecutionInfoMaps(ctx context.Context, f sqlplugin.ChildExecutionInfoMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromChildExecutionInfoMaps, execution(f))
}

func (q crud) ReplaceIntoRequestCancelInfoMaps(ctx context.Context, rows []sqlplugin.RequestCancelInfoMapsRow) (sql.Result, error) {
	return replaceInitiated(ctx, q, (*args).ReplaceIntoRequestCancelInfoMaps, rows)
}

func (q crud) SelectAllFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsAllFilter) ([]sqlplugin.RequestCancelInfoMapsRow, error) {
	return selectInitiated[sqlplugin.RequestCancelInfoMapsRow](ctx, q, (*args).SelectAllFromRequestCancelInfoMaps, execution(f))
}

func (q crud) DeleteFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromRequestCancelInfoMaps, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.InitiatedIDs)
}

func (q crud) DeleteAllFromRequestCancelInfoMaps(ctx context.Context, f sqlplugin.RequestCancelInfoMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromRequestCancelInfoMaps, execution(f))
}

func (q crud) ReplaceIntoSignalInfoMaps(ctx context.Context, rows []sqlplugin.SignalInfoMapsRow) (sql.Result, error) {
	return replaceInitiated(ctx, q, (*args).ReplaceIntoSignalInfoMaps, rows)
}

func (q crud) SelectAllFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsAllFilter) ([]sqlplugin.SignalInfoMapsRow, error) {
	return selectInitiated[sqlplugin.SignalInfoMapsRow](ctx, q, (*args).SelectAllFromSignalInfoMaps, execution(f))
}

func (q crud) DeleteFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromSignalInfoMaps, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.InitiatedIDs)
}

func (q crud) DeleteAllFromSignalInfoMaps(ctx context.Context, f sqlplugin.SignalInfoMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromSignalInfoMaps, execution(f))
}

func (q crud) ReplaceIntoSignalsRequestedSets(ctx context.Context, rows []sqlplugin.SignalsRequestedSetsRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.SignalsRequestedSetsRow) {
		a.ReplaceIntoSignalsRequestedSets(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, r.SignalID)
	})
}

func (q crud) SelectAllFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsAllFilter) ([]sqlplugin.SignalsRequestedSetsRow, error) {
	a, err := q.selectAll(ctx, (*args).SelectAllFromSignalsRequestedSets, execution(f))
	return list(a, err, func(a *answer) sqlplugin.SignalsRequestedSetsRow {
		return sqlplugin.SignalsRequestedSetsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			SignalID: a.text(),
		}
	})
}

func (q crud) DeleteFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, (*args).DeleteFromSignalsRequestedSets, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.SignalIDs)
}

func (q crud) DeleteAllFromSignalsRequestedSets(ctx context.Context, f sqlplugin.SignalsRequestedSetsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromSignalsRequestedSets, execution(f))
}

func (q crud) ReplaceIntoChasmNodeMaps(ctx context.Context, rows []sqlplugin.ChasmNodeMapsRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.ChasmNodeMapsRow) {
		a.ReplaceIntoChasmNodeMaps(r.ShardID, r.NamespaceID, r.WorkflowID, r.RunID, []byte(r.ChasmPath), r.Metadata, r.MetadataEncoding, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectAllFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsAllFilter) ([]sqlplugin.ChasmNodeMapsRow, error) {
	a, err := q.selectAll(ctx, (*args).SelectAllFromChasmNodeMaps, execution(f))
	return list(a, err, func(a *answer) sqlplugin.ChasmNodeMapsRow {
		return sqlplugin.ChasmNodeMapsRow{
			ShardID: f.ShardID, NamespaceID: f.NamespaceID, WorkflowID: f.WorkflowID, RunID: f.RunID,
			ChasmPath: a.text(),
			Metadata:  a.bytes(), MetadataEncoding: a.text(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func deleteChasmNode(a *args, shard int32, namespace primitives.UUID, workflow string, run primitives.UUID, path string) *args {
	return a.DeleteFromChasmNodeMaps(shard, namespace, workflow, run, []byte(path))
}

func (q crud) DeleteFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsFilter) (sql.Result, error) {
	return deleteKeys(ctx, q, deleteChasmNode, execution{f.ShardID, f.NamespaceID, f.WorkflowID, f.RunID}, f.ChasmPaths)
}

func (q crud) DeleteAllFromChasmNodeMaps(ctx context.Context, f sqlplugin.ChasmNodeMapsAllFilter) (sql.Result, error) {
	return q.deleteAll(ctx, (*args).DeleteAllFromChasmNodeMaps, execution(f))
}
