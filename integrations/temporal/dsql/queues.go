package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// The first kind.

func (q crud) InsertIntoMessages(ctx context.Context, rows []sqlplugin.QueueMessageRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.QueueMessageRow) {
		a.InsertIntoMessages(int32(r.QueueType), r.MessageID, r.MessagePayload, r.MessageEncoding)
	})
}

func message(queue persistence.QueueType) func(*answer) sqlplugin.QueueMessageRow {
	return func(a *answer) sqlplugin.QueueMessageRow {
		return sqlplugin.QueueMessageRow{
			QueueType: queue, MessageID: a.i64(), MessagePayload: a.bytes(), MessageEncoding: a.text(),
		}
	}
}

func (q crud) SelectFromMessages(ctx context.Context, f sqlplugin.QueueMessagesFilter) ([]sqlplugin.QueueMessageRow, error) {
	a, err := q.query(ctx, new(args).SelectFromMessages(int32(f.QueueType), f.MessageID))
	return list(a, err, message(f.QueueType))
}

func (q crud) RangeSelectFromMessages(ctx context.Context, f sqlplugin.QueueMessagesRangeFilter) ([]sqlplugin.QueueMessageRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromMessages(int32(f.QueueType), f.MinMessageID, f.MaxMessageID, f.PageSize))
	return list(a, err, message(f.QueueType))
}

func (q crud) DeleteFromMessages(ctx context.Context, f sqlplugin.QueueMessagesFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).DeleteFromMessages(int32(f.QueueType), f.MessageID))
}

func (q crud) RangeDeleteFromMessages(ctx context.Context, f sqlplugin.QueueMessagesRangeFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromMessages(int32(f.QueueType), f.MinMessageID, f.MaxMessageID))
}

func (q crud) GetLastEnqueuedMessageIDForUpdate(ctx context.Context, queue persistence.QueueType) (int64, error) {
	return q.number(ctx, new(args).GetLastEnqueuedMessageIDForUpdate(int32(queue)))
}

func (q crud) InsertIntoQueueMetadata(ctx context.Context, r *sqlplugin.QueueMetadataRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoQueueMetadata(int32(r.QueueType), r.Data, r.DataEncoding, r.Version))
}

func (q crud) UpdateQueueMetadata(ctx context.Context, r *sqlplugin.QueueMetadataRow) (sql.Result, error) {
	return q.cas(ctx, new(args).UpdateQueueMetadata(int32(r.QueueType), r.Version, r.Data, r.DataEncoding))
}

func (q crud) queueMetadata(ctx context.Context, in *args, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	a, err := q.query(ctx, in)
	return one(a, err, func(a *answer) sqlplugin.QueueMetadataRow {
		return sqlplugin.QueueMetadataRow{QueueType: f.QueueType, Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) SelectFromQueueMetadata(ctx context.Context, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	return q.queueMetadata(ctx, new(args).SelectFromQueueMetadata(int32(f.QueueType)), f)
}

func (q crud) LockQueueMetadata(ctx context.Context, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	return q.queueMetadata(ctx, new(args).LockQueueMetadata(int32(f.QueueType)), f)
}

// The second kind.

func (q crud) InsertIntoQueueV2Messages(ctx context.Context, rows []sqlplugin.QueueV2MessageRow) (sql.Result, error) {
	return execRows(ctx, q, rows, func(a *args, r *sqlplugin.QueueV2MessageRow) {
		a.InsertIntoQueueV2Messages(int32(r.QueueType), r.QueueName, r.QueuePartition, r.MessageID, r.MessagePayload, r.MessageEncoding)
	})
}

func (q crud) RangeSelectFromQueueV2Messages(ctx context.Context, f sqlplugin.QueueV2MessagesFilter) ([]sqlplugin.QueueV2MessageRow, error) {
	a, err := q.query(ctx, new(args).RangeSelectFromQueueV2Messages(int32(f.QueueType), f.QueueName, f.Partition, f.MinMessageID, f.PageSize))
	return list(a, err, func(a *answer) sqlplugin.QueueV2MessageRow {
		return sqlplugin.QueueV2MessageRow{
			QueueType: f.QueueType, QueueName: f.QueueName, QueuePartition: f.Partition,
			MessageID: a.i64(), MessagePayload: a.bytes(), MessageEncoding: a.text(),
		}
	})
}

func (q crud) RangeDeleteFromQueueV2Messages(ctx context.Context, f sqlplugin.QueueV2MessagesFilter) (sql.Result, error) {
	return q.exec(ctx, new(args).RangeDeleteFromQueueV2Messages(int32(f.QueueType), f.QueueName, f.Partition, f.MinMessageID, f.MaxMessageID))
}

func (q crud) GetLastEnqueuedMessageIDForUpdateV2(ctx context.Context, f sqlplugin.QueueV2Filter) (int64, error) {
	return q.number(ctx, new(args).GetLastEnqueuedMessageIDForUpdateV2(int32(f.QueueType), f.QueueName, int64(f.Partition)))
}

func (q crud) InsertIntoQueueV2Metadata(ctx context.Context, r *sqlplugin.QueueV2MetadataRow) (sql.Result, error) {
	return q.exec(ctx, new(args).InsertIntoQueueV2Metadata(int32(r.QueueType), r.QueueName, r.MetadataPayload, r.MetadataEncoding))
}

func (q crud) UpdateQueueV2Metadata(ctx context.Context, r *sqlplugin.QueueV2MetadataRow) (sql.Result, error) {
	return q.exec(ctx, new(args).UpdateQueueV2Metadata(int32(r.QueueType), r.QueueName, r.MetadataPayload, r.MetadataEncoding))
}

func (q crud) queueV2Metadata(ctx context.Context, in *args, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	a, err := q.query(ctx, in)
	return one(a, err, func(a *answer) sqlplugin.QueueV2MetadataRow {
		return sqlplugin.QueueV2MetadataRow{
			QueueType: f.QueueType, QueueName: f.QueueName, MetadataPayload: a.bytes(), MetadataEncoding: a.text(),
		}
	})
}

func (q crud) SelectFromQueueV2Metadata(ctx context.Context, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	return q.queueV2Metadata(ctx, new(args).SelectFromQueueV2Metadata(int32(f.QueueType), f.QueueName), f)
}

func (q crud) SelectFromQueueV2MetadataForUpdate(ctx context.Context, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	return q.queueV2Metadata(ctx, new(args).SelectFromQueueV2MetadataForUpdate(int32(f.QueueType), f.QueueName), f)
}

func (q crud) SelectNameFromQueueV2Metadata(ctx context.Context, f sqlplugin.QueueV2MetadataTypeFilter) ([]sqlplugin.QueueV2MetadataRow, error) {
	a, err := q.query(ctx, new(args).SelectNameFromQueueV2Metadata(int32(f.QueueType), f.PageSize, f.PageOffset))
	return list(a, err, func(a *answer) sqlplugin.QueueV2MetadataRow {
		return sqlplugin.QueueV2MetadataRow{
			QueueType: f.QueueType, QueueName: a.text(), MetadataPayload: a.bytes(), MetadataEncoding: a.text(),
		}
	})
}
