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

// The task queues of history: four methods each.

func (q crud) InsertIntoHistoryImmediateTasks(ctx context.Context, rows []sqlplugin.HistoryImmediateTasksRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_InsertIntoHistoryImmediateTasks, rows, func(a *args, r *sqlplugin.HistoryImmediateTasksRow) {
		a.row(r.ShardID, r.CategoryID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksRangeFilter) ([]sqlplugin.HistoryImmediateTasksRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromHistoryImmediateTasks, f.ShardID, f.CategoryID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.HistoryImmediateTasksRow {
		return sqlplugin.HistoryImmediateTasksRow{ShardID: f.ShardID, CategoryID: f.CategoryID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()}
	})
}

func (q crud) DeleteFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromHistoryImmediateTasks, f.ShardID, f.CategoryID, f.TaskID)
}

func (q crud) RangeDeleteFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromHistoryImmediateTasks, f.ShardID, f.CategoryID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID)
}

// task is the row, and taskRange the filter, of queues that have neither a category nor a time.
type task struct {
	ShardID      int32
	TaskID       int64
	Data         []byte
	DataEncoding string
}

type taskRange struct {
	ShardID            int32
	InclusiveMinTaskID int64
	ExclusiveMaxTaskID int64
	PageSize           int
}

type taskRow interface {
	sqlplugin.TransferTasksRow | sqlplugin.ReplicationTasksRow | sqlplugin.VisibilityTasksRow
}

func insertTasks[R taskRow](ctx context.Context, q crud, op C.int, rows []R) (sql.Result, error) {
	return execRows(ctx, q, op, rows, func(a *args, row *R) {
		r := task(*row)
		a.row(r.ShardID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func selectTasks[R taskRow](ctx context.Context, q crud, op C.int, f taskRange) ([]R, error) {
	a, err := q.query(ctx, op, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize)
	return list(a, err, func(a *answer) R {
		return R(task{ShardID: f.ShardID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()})
	})
}

func (q crud) InsertIntoTransferTasks(ctx context.Context, rows []sqlplugin.TransferTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, C.DSQL_OP_InsertIntoTransferTasks, rows)
}

func (q crud) RangeSelectFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksRangeFilter) ([]sqlplugin.TransferTasksRow, error) {
	return selectTasks[sqlplugin.TransferTasksRow](ctx, q, C.DSQL_OP_RangeSelectFromTransferTasks, taskRange(f))
}

func (q crud) DeleteFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromTransferTasks, f.ShardID, f.TaskID)
}

func (q crud) RangeDeleteFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromTransferTasks, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID)
}

func (q crud) InsertIntoReplicationTasks(ctx context.Context, rows []sqlplugin.ReplicationTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, C.DSQL_OP_InsertIntoReplicationTasks, rows)
}

func (q crud) RangeSelectFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksRangeFilter) ([]sqlplugin.ReplicationTasksRow, error) {
	return selectTasks[sqlplugin.ReplicationTasksRow](ctx, q, C.DSQL_OP_RangeSelectFromReplicationTasks, taskRange(f))
}

func (q crud) DeleteFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromReplicationTasks, f.ShardID, f.TaskID)
}

func (q crud) RangeDeleteFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromReplicationTasks, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID)
}

func (q crud) InsertIntoVisibilityTasks(ctx context.Context, rows []sqlplugin.VisibilityTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, C.DSQL_OP_InsertIntoVisibilityTasks, rows)
}

func (q crud) RangeSelectFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksRangeFilter) ([]sqlplugin.VisibilityTasksRow, error) {
	return selectTasks[sqlplugin.VisibilityTasksRow](ctx, q, C.DSQL_OP_RangeSelectFromVisibilityTasks, taskRange(f))
}

func (q crud) DeleteFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromVisibilityTasks, f.ShardID, f.TaskID)
}

func (q crud) RangeDeleteFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromVisibilityTasks, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID)
}

func (q crud) InsertIntoReplicationDLQTasks(ctx context.Context, rows []sqlplugin.ReplicationDLQTasksRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_InsertIntoReplicationDLQTasks, rows, func(a *args, r *sqlplugin.ReplicationDLQTasksRow) {
		a.row(r.SourceClusterName, r.ShardID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksRangeFilter) ([]sqlplugin.ReplicationDLQTasksRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromReplicationDLQTasks, f.SourceClusterName, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.ReplicationDLQTasksRow {
		return sqlplugin.ReplicationDLQTasksRow{SourceClusterName: f.SourceClusterName, ShardID: f.ShardID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()}
	})
}

func (q crud) DeleteFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromReplicationDLQTasks, f.SourceClusterName, f.ShardID, f.TaskID)
}

func (q crud) RangeDeleteFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromReplicationDLQTasks, f.SourceClusterName, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID)
}

func (q crud) InsertIntoHistoryScheduledTasks(ctx context.Context, rows []sqlplugin.HistoryScheduledTasksRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_InsertIntoHistoryScheduledTasks, rows, func(a *args, r *sqlplugin.HistoryScheduledTasksRow) {
		a.row(r.ShardID, r.CategoryID, r.VisibilityTimestamp, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksRangeFilter) ([]sqlplugin.HistoryScheduledTasksRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromHistoryScheduledTasks, f.ShardID, f.CategoryID, f.InclusiveMinVisibilityTimestamp,
		f.InclusiveMinTaskID, f.ExclusiveMaxVisibilityTimestamp, f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.HistoryScheduledTasksRow {
		return sqlplugin.HistoryScheduledTasksRow{
			ShardID: f.ShardID, CategoryID: f.CategoryID, VisibilityTimestamp: a.time(), TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromHistoryScheduledTasks, f.ShardID, f.CategoryID, f.VisibilityTimestamp, f.TaskID)
}

func (q crud) RangeDeleteFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromHistoryScheduledTasks, f.ShardID, f.CategoryID, f.InclusiveMinVisibilityTimestamp, f.ExclusiveMaxVisibilityTimestamp)
}

func (q crud) InsertIntoTimerTasks(ctx context.Context, rows []sqlplugin.TimerTasksRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_InsertIntoTimerTasks, rows, func(a *args, r *sqlplugin.TimerTasksRow) {
		a.row(r.ShardID, r.VisibilityTimestamp, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksRangeFilter) ([]sqlplugin.TimerTasksRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromTimerTasks, f.ShardID, f.InclusiveMinVisibilityTimestamp,
		f.InclusiveMinTaskID, f.ExclusiveMaxVisibilityTimestamp, f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.TimerTasksRow {
		return sqlplugin.TimerTasksRow{
			ShardID: f.ShardID, VisibilityTimestamp: a.time(), TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromTimerTasks, f.ShardID, f.VisibilityTimestamp, f.TaskID)
}

func (q crud) RangeDeleteFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromTimerTasks, f.ShardID, f.InclusiveMinVisibilityTimestamp, f.ExclusiveMaxVisibilityTimestamp)
}
