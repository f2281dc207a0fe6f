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
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.HistoryImmediateTasksRow) {
		a.InsertIntoHistoryImmediateTasks(r.ShardID, r.CategoryID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksRangeFilter) ([]sqlplugin.HistoryImmediateTasksRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromHistoryImmediateTasks(f.ShardID, f.CategoryID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.HistoryImmediateTasksRow {
		return sqlplugin.HistoryImmediateTasksRow{ShardID: f.ShardID, CategoryID: f.CategoryID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()}
	})
}

func (q crud) DeleteFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromHistoryImmediateTasks(f.ShardID, f.CategoryID, f.TaskID))
}

func (q crud) RangeDeleteFromHistoryImmediateTasks(ctx context.Context, f sqlplugin.HistoryImmediateTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromHistoryImmediateTasks(f.ShardID, f.CategoryID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID))
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

func insertTasks[R taskRow](ctx context.Context, q crud, in func(*args, int32, int64, []byte, string) *args, rows []R) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, row *R) {
		r := task(*row)
		in(a, r.ShardID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func selectTasks[R taskRow](ctx context.Context, q crud, in func(*args, int32, int64, int64, any) *args, f taskRange) ([]R, error) {
	a, err := q.query(ctx, in(new(args), f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize))
	return list(a, err, func(a *answer) R {
		return R(task{ShardID: f.ShardID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()})
	})
}

func (q crud) InsertIntoTransferTasks(ctx context.Context, rows []sqlplugin.TransferTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, (*args).InsertIntoTransferTasks, rows)
}

func (q crud) RangeSelectFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksRangeFilter) ([]sqlplugin.TransferTasksRow, error) {
	return selectTasks[sqlplugin.TransferTasksRow](ctx, q, (*args).RangeSelectFromTransferTasks, taskRange(f))
}

func (q crud) DeleteFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromTransferTasks(f.ShardID, f.TaskID))
}

func (q crud) RangeDeleteFromTransferTasks(ctx context.Context, f sqlplugin.TransferTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromTransferTasks(f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID))
}

func (q crud) InsertIntoReplicationTasks(ctx context.Context, rows []sqlplugin.ReplicationTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, (*args).InsertIntoReplicationTasks, rows)
}

func (q crud) RangeSelectFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksRangeFilter) ([]sqlplugin.ReplicationTasksRow, error) {
	return selectTasks[sqlplugin.ReplicationTasksRow](ctx, q, (*args).RangeSelectFromReplicationTasks, taskRange(f))
}

func (q crud) DeleteFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromReplicationTasks(f.ShardID, f.TaskID))
}

func (q crud) RangeDeleteFromReplicationTasks(ctx context.Context, f sqlplugin.ReplicationTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromReplicationTasks(f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID))
}

func (q crud) InsertIntoVisibilityTasks(ctx context.Context, rows []sqlplugin.VisibilityTasksRow) (sql.Result, error) {
	return insertTasks(ctx, q, (*args).InsertIntoVisibilityTasks, rows)
}

func (q crud) RangeSelectFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksRangeFilter) ([]sqlplugin.VisibilityTasksRow, error) {
	return selectTasks[sqlplugin.VisibilityTasksRow](ctx, q, (*args).RangeSelectFromVisibilityTasks, taskRange(f))
}

func (q crud) DeleteFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromVisibilityTasks(f.ShardID, f.TaskID))
}

func (q crud) RangeDeleteFromVisibilityTasks(ctx context.Context, f sqlplugin.VisibilityTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromVisibilityTasks(f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID))
}

func (q crud) InsertIntoReplicationDLQTasks(ctx context.Context, rows []sqlplugin.ReplicationDLQTasksRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.ReplicationDLQTasksRow) {
		a.InsertIntoReplicationDLQTasks(r.SourceClusterName, r.ShardID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksRangeFilter) ([]sqlplugin.ReplicationDLQTasksRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromReplicationDLQTasks(f.SourceClusterName, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.ReplicationDLQTasksRow {
		return sqlplugin.ReplicationDLQTasksRow{SourceClusterName: f.SourceClusterName, ShardID: f.ShardID, TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text()}
	})
}

func (q crud) DeleteFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromReplicationDLQTasks(f.SourceClusterName, f.ShardID, f.TaskID))
}

func (q crud) RangeDeleteFromReplicationDLQTasks(ctx context.Context, f sqlplugin.ReplicationDLQTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromReplicationDLQTasks(f.SourceClusterName, f.ShardID, f.InclusiveMinTaskID, f.ExclusiveMaxTaskID))
}

func (q crud) InsertIntoHistoryScheduledTasks(ctx context.Context, rows []sqlplugin.HistoryScheduledTasksRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.HistoryScheduledTasksRow) {
		a.InsertIntoHistoryScheduledTasks(r.ShardID, r.CategoryID, r.VisibilityTimestamp, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksRangeFilter) ([]sqlplugin.HistoryScheduledTasksRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromHistoryScheduledTasks(f.ShardID, f.CategoryID, f.InclusiveMinVisibilityTimestamp,
		f.InclusiveMinTaskID, f.ExclusiveMaxVisibilityTimestamp, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.HistoryScheduledTasksRow {
		return sqlplugin.HistoryScheduledTasksRow{
			ShardID: f.ShardID, CategoryID: f.CategoryID, VisibilityTimestamp: a.time(), TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromHistoryScheduledTasks(f.ShardID, f.CategoryID, f.VisibilityTimestamp, f.TaskID))
}

func (q crud) RangeDeleteFromHistoryScheduledTasks(ctx context.Context, f sqlplugin.HistoryScheduledTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromHistoryScheduledTasks(f.ShardID, f.CategoryID, f.InclusiveMinVisibilityTimestamp, f.ExclusiveMaxVisibilityTimestamp))
}

func (q crud) InsertIntoTimerTasks(ctx context.Context, rows []sqlplugin.TimerTasksRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.TimerTasksRow) {
		a.InsertIntoTimerTasks(r.ShardID, r.VisibilityTimestamp, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) RangeSelectFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksRangeFilter) ([]sqlplugin.TimerTasksRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromTimerTasks(f.ShardID, f.InclusiveMinVisibilityTimestamp,
		f.InclusiveMinTaskID, f.ExclusiveMaxVisibilityTimestamp, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.TimerTasksRow {
		return sqlplugin.TimerTasksRow{
			ShardID: f.ShardID, VisibilityTimestamp: a.time(), TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromTimerTasks(f.ShardID, f.VisibilityTimestamp, f.TaskID))
}

func (q crud) RangeDeleteFromTimerTasks(ctx context.Context, f sqlplugin.TimerTasksRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromTimerTasks(f.ShardID, f.InclusiveMinVisibilityTimestamp, f.ExclusiveMaxVisibilityTimestamp))
}
