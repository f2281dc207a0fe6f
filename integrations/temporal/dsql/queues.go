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
	return execRows(ctx, q, C.DSQL_OP_InsertIntoMessages, rows, func(a *args, r *sqlplugin.QueueMessageRow) {
		a.row(int32(r.QueueType), r.MessageID, r.MessagePayload, r.MessageEncoding)
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
	a, err := q.query(ctx, C.DSQL_OP_SelectFromMessages, int32(f.QueueType), f.MessageID)
	return list(a, err, message(f.QueueType))
}

func (q crud) RangeSelectFromMessages(ctx context.Context, f sqlplugin.QueueMessagesRangeFilter) ([]sqlplugin.QueueMessageRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromMessages, int32(f.QueueType), f.MinMessageID, f.MaxMessageID, f.PageSize)
	return list(a, err, message(f.QueueType))
}

func (q crud) DeleteFromMessages(ctx context.Context, f sqlplugin.QueueMessagesFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_DeleteFromMessages, int32(f.QueueType), f.MessageID)
}

func (q crud) RangeDeleteFromMessages(ctx context.Context, f sqlplugin.QueueMessagesRangeFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromMessages, int32(f.QueueType), f.MinMessageID, f.MaxMessageID)
}

func (q crud) GetLastEnqueuedMessageIDForUpdate(ctx context.Context, queue persistence.QueueType) (int64, error) {
	return q.number(ctx, C.DSQL_OP_GetLastEnqueuedMessageIDForUpdate, int32(queue))
}

func (q crud) InsertIntoQueueMetadata(ctx context.Context, r *sqlplugin.QueueMetadataRow) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_InsertIntoQueueMetadata, int32(r.QueueType), r.Data, r.DataEncoding, r.Version)
}

func (q crud) UpdateQueueMetadata(ctx context.Context, r *sqlplugin.QueueMetadataRow) (sql.Result, error) {
	return q.cas(ctx, C.DSQL_OP_UpdateQueueMetadata, int32(r.QueueType), r.Version, r.Data, r.DataEncoding)
}

func (q crud) queueMetadata(ctx context.Context, op C.int, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	a, err := q.query(ctx, op, int32(f.QueueType))
	return one(a, err, func(a *answer) sqlplugin.QueueMetadataRow {
		return sqlplugin.QueueMetadataRow{QueueType: f.QueueType, Data: a.bytes(), DataEncoding: a.text(), Version: a.i64()}
	})
}

func (q crud) SelectFromQueueMetadata(ctx context.Context, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	return q.queueMetadata(ctx, C.DSQL_OP_SelectFromQueueMetadata, f)
}

func (q crud) LockQueueMetadata(ctx context.Context, f sqlplugin.QueueMetadataFilter) (*sqlplugin.QueueMetadataRow, error) {
	return q.queueMetadata(ctx, C.DSQL_OP_LockQueueMetadata, f)
}

// The second kind.

func (q crud) InsertIntoQueueV2Messages(ctx context.Context, rows []sqlplugin.QueueV2MessageRow) (sql.Result, error) {
	return execRows(ctx, q, C.DSQL_OP_InsertIntoQueueV2Messages, rows, func(a *args, r *sqlplugin.QueueV2MessageRow) {
		a.row(int32(r.QueueType), r.QueueName, r.QueuePartition, r.MessageID, r.MessagePayload, r.MessageEncoding)
	})
}

func (q crud) RangeSelectFromQueueV2Messages(ctx context.Context, f sqlplugin.QueueV2MessagesFilter) ([]sqlplugin.QueueV2MessageRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_RangeSelectFromQueueV2Messages, int32(f.QueueType), f.QueueName, f.Partition, f.MinMessageID, f.PageSize)
	return list(a, err, func(a *answer) sqlplugin.QueueV2MessageRow {
		return sqlplugin.QueueV2MessageRow{
			QueueType: f.QueueType, QueueName: f.QueueName, QueuePartition: f.Partition,
			MessageID: a.i64(), MessagePayload: a.bytes(), MessageEncoding: a.text(),
		}
	})
}

func (q crud) RangeDeleteFromQueueV2Messages(ctx context.Context, f sqlplugin.QueueV2MessagesFilter) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_RangeDeleteFromQueueV2Messages, int32(f.QueueType), f.QueueName, f.Partition, f.MinMessageID, f.MaxMessageID)
}

func (q crud) GetLastEnqueuedMessageIDForUpdateV2(ctx context.Context, f sqlplugin.QueueV2Filter) (int64, error) {
	return q.number(ctx, C.DSQL_OP_GetLastEnqueuedMessageIDForUpdateV2, int32(f.QueueType), f.QueueName, f.Partition)
}

func (q crud) InsertIntoQueueV2Metadata(ctx context.Context, r *sqlplugin.QueueV2MetadataRow) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_InsertIntoQueueV2Metadata, int32(r.QueueType), r.QueueName, r.MetadataPayload, r.MetadataEncoding)
}

func (q crud) UpdateQueueV2Metadata(ctx context.Context, r *sqlplugin.QueueV2MetadataRow) (sql.Result, error) {
	return q.exec(ctx, C.DSQL_OP_UpdateQueueV2Metadata, int32(r.QueueType), r.QueueName, r.MetadataPayload, r.MetadataEncoding)
}

func (q crud) queueV2Metadata(ctx context.Context, op C.int, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	a, err := q.query(ctx, op, int32(f.QueueType), f.QueueName)
	return one(a, err, func(a *answer) sqlplugin.QueueV2MetadataRow {
		return sqlplugin.QueueV2MetadataRow{
			QueueType: f.QueueType, QueueName: f.QueueName, MetadataPayload: a.bytes(), MetadataEncoding: a.text(),
		}
	})
}

func (q crud) SelectFromQueueV2Metadata(ctx context.Context, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	return q.queueV2Metadata(ctx, C.DSQL_OP_SelectFromQueueV2Metadata, f)
}

func (q crud) SelectFromQueueV2MetadataForUpdate(ctx context.Context, f sqlplugin.QueueV2MetadataFilter) (*sqlplugin.QueueV2MetadataRow, error) {
	return q.queueV2Metadata(ctx, C.DSQL_OP_SelectFromQueueV2MetadataForUpdate, f)
}

func (q crud) SelectNameFromQueueV2Metadata(ctx context.Context, f sqlplugin.QueueV2MetadataTypeFilter) ([]sqlplugin.QueueV2MetadataRow, error) {
	a, err := q.query(ctx, C.DSQL_OP_SelectNameFromQueueV2Metadata, int32(f.QueueType), f.PageSize, f.PageOffset)
	return list(a, err, func(a *answer) sqlplugin.QueueV2MetadataRow {
		return sqlplugin.QueueV2MetadataRow{
			QueueType: f.QueueType, QueueName: a.text(), MetadataPayload: a.bytes(), MetadataEncoding: a.text(),
		}
	})
}
