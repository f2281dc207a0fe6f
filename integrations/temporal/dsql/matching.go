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
)

// Tasks.

func (q crud) InsertIntoTasks(ctx context.Context, rows []sqlplugin.TasksRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.TasksRow) {
		a.InsertIntoTasks(int64(r.RangeHash), r.TaskQueueID, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectFromTasks(ctx context.Context, f sqlplugin.TasksFilter) ([]sqlplugin.TasksRow, error) {
	if f.InclusiveMinTaskID == nil {
		return nil, serviceerror.NewInternal("tasks are read from an ID on")
	}
	a, err := q.query(ctx, new(args).SelectFromTasks(int64(f.RangeHash), f.TaskQueueID, *f.InclusiveMinTaskID, f.ExclusiveMaxTaskID, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.TasksRow {
		return sqlplugin.TasksRow{
			RangeHash: f.RangeHash, TaskQueueID: f.TaskQueueID,
			TaskID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTasks(ctx context.Context, f sqlplugin.TasksFilter) (sql.Result, error) {
	if f.ExclusiveMaxTaskID == nil || f.Limit == nil || *f.Limit == 0 {
		return nil, serviceerror.NewInternal("tasks are deleted up to an ID and a limit")
	}
	return q.exec(ctx, new(args).DeleteFromTasks(int64(f.RangeHash), f.TaskQueueID, *f.ExclusiveMaxTaskID, int64(*f.Limit)))
}

func (q crud) InsertIntoTasksV2(ctx context.Context, rows []sqlplugin.TasksRowV2) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.TasksRowV2) {
		a.InsertIntoTasksV2(int64(r.RangeHash), r.TaskQueueID, r.TaskPass, r.TaskID, r.Data, r.DataEncoding)
	})
}

func (q crud) SelectFromTasksV2(ctx context.Context, f sqlplugin.TasksFilterV2) ([]sqlplugin.TasksRowV2, error) {
	if f.InclusiveMinLevel == nil {
		return nil, serviceerror.NewInternal("tasks are read from a level on")
	}
	a, err := q.query(ctx, new(args).SelectFromTasksV2(int64(f.RangeHash), f.TaskQueueID, f.InclusiveMinLevel.TaskPass,
		f.InclusiveMinLevel.TaskID, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.TasksRowV2 {
		return sqlplugin.TasksRowV2{
			RangeHash: f.RangeHash, TaskQueueID: f.TaskQueueID,
			FairLevel: sqlplugin.FairLevel{TaskPass: a.i64(), TaskID: a.i64()}, Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTasksV2(ctx context.Context, f sqlplugin.TasksFilterV2) (sql.Result, error) {
	if f.ExclusiveMaxLevel == nil || f.Limit == nil || *f.Limit == 0 {
		return nil, serviceerror.NewInternal("tasks are deleted up to a level and a limit")
	}
	return q.exec(ctx, new(args).DeleteFromTasksV2(int64(f.RangeHash), f.TaskQueueID, f.ExclusiveMaxLevel.TaskPass,
		f.ExclusiveMaxLevel.TaskID, int64(*f.Limit)))
}

// Task queues.

func (q crud) InsertIntoTaskQueues(ctx context.Context, r *sqlplugin.TaskQueuesRow, v sqlplugin.MatchingTaskVersion) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoTaskQueues(int32(v), int64(r.RangeHash), r.TaskQueueID, r.RangeID, r.Data, r.DataEncoding))
}

func (q crud) UpdateTaskQueues(ctx context.Context, r *sqlplugin.TaskQueuesRow, v sqlplugin.MatchingTaskVersion) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateTaskQueues(int32(v), int64(r.RangeHash), r.TaskQueueID, r.RangeID, r.Data, r.DataEncoding))
}

func (q crud) SelectFromTaskQueues(ctx context.Context, f sqlplugin.TaskQueuesFilter, v sqlplugin.MatchingTaskVersion) ([]sqlplugin.TaskQueuesRow, error) {
	var from, to any
	window := f.RangeHashLessThanEqualTo != 0
	if window {
		from, to = f.RangeHashGreaterThanEqualTo, f.RangeHashLessThanEqualTo
	}
	switch {
	case f.TaskQueueID != nil && (window || f.RangeHashGreaterThanEqualTo != 0):
		return nil, serviceerror.NewInternal("one task queue or a range of hashes, not both")
	case window && f.RangeHashLessThanEqualTo < f.RangeHashGreaterThanEqualTo:
		return nil, serviceerror.NewInternal("the range of hashes is empty")
	case f.TaskQueueID == nil && (f.PageSize == nil || !window && f.TaskQueueIDGreaterThan == nil):
		return nil, serviceerror.NewInternal("which task queues?")
	}
	a, err := q.query(ctx, new(args).SelectFromTaskQueues(int32(v), int64(f.RangeHash), f.TaskQueueID, from, to,
		f.TaskQueueIDGreaterThan, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.TaskQueuesRow {
		return sqlplugin.TaskQueuesRow{
			RangeHash: uint32(a.i64()), TaskQueueID: a.bytes(), RangeID: a.i64(), Data: a.bytes(), DataEncoding: a.text(),
		}
	})
}

func (q crud) DeleteFromTaskQueues(ctx context.Context, f sqlplugin.TaskQueuesFilter, v sqlplugin.MatchingTaskVersion) (sql.Result, error) {
	return q.cas(ctx, new(args).DeleteFromTaskQueues(int32(v), int64(f.RangeHash), f.TaskQueueID, *f.RangeID))
}

func (q crud) LockTaskQueues(ctx context.Context, f sqlplugin.TaskQueuesFilter, v sqlplugin.MatchingTaskVersion) (int64, error) {
	return q.number(ctx, new(args).LockTaskQueues(int32(v), int64(f.RangeHash), f.TaskQueueID))
}

// User data.

func (q crud) GetTaskQueueUserData(ctx context.Context, r *sqlplugin.GetTaskQueueUserDataRequest) (*sqlplugin.VersionedBlob, error) {
	a, err := q.query(ctx, new(args).GetTaskQueueUserData(r.NamespaceID, r.TaskQueueName))
	return one(a, err, func(a *answer) sqlplugin.VersionedBlob {
		return sqlplugin.VersionedBlob{Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) UpdateTaskQueueUserData(ctx context.Context, r *sqlplugin.UpdateTaskQueueDataRequest) error {
	_, err := q.exec(ctx, new(args).UpdateTaskQueueUserData(r.NamespaceID, r.TaskQueueName, r.Version, r.Data, r.DataEncoding))
	if isConditionFailed(err) {
		return &persistence.ConditionFailedError{Msg: err.Error()}
	}
	return err
}

func (q crud) ListTaskQueueUserDataEntries(ctx context.Context, r *sqlplugin.ListTaskQueueUserDataEntriesRequest) ([]sqlplugin.TaskQueueUserDataEntry, error) {
	a, err := q.query(ctx, new(args).ListTaskQueueUserDataEntries(r.NamespaceID, r.LastTaskQueueName, r.Limit))
	return list(a, err, func(a *answer) sqlplugin.TaskQueueUserDataEntry {
		return sqlplugin.TaskQueueUserDataEntry{
			TaskQueueName: a.text(),
			VersionedBlob: sqlplugin.VersionedBlob{Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()},
		}
	})
}

func (q crud) AddToBuildIdToTaskQueueMapping(ctx context.Context, r sqlplugin.AddToBuildIdToTaskQueueMapping) error {
	_, err := execRows(ctx, q, r.BuildIds, func(a *args, id *string) {
		a.AddToBuildIdToTaskQueueMapping(r.NamespaceID, r.TaskQueueName, *id)
	})
	return err
}

func (q crud) RemoveFromBuildIdToTaskQueueMapping(ctx context.Context, r sqlplugin.RemoveFromBuildIdToTaskQueueMapping) error {
	_, err := execRows(ctx, q, r.BuildIds, func(a *args, id *string) {
		a.RemoveFromBuildIdToTaskQueueMapping(r.NamespaceID, r.TaskQueueName, *id)
	})
	return err
}

func (q crud) GetTaskQueuesByBuildId(ctx context.Context, r *sqlplugin.GetTaskQueuesByBuildIdRequest) ([]string, error) {
	a, err := q.query(ctx, new(args).GetTaskQueuesByBuildId(r.NamespaceID, r.BuildID))
	names, err := list(a, err, (*answer).text)
	if names == nil {
		names = []string{} // as Temporal's own plugins answer
	}
	return names, err
}

func (q crud) CountTaskQueuesByBuildId(ctx context.Context, r *sqlplugin.CountTaskQueuesByBuildIdRequest) (int, error) {
	n, err := q.number(ctx, new(args).CountTaskQueuesByBuildId(r.NamespaceID, r.BuildID))
	return int(n), err
}
