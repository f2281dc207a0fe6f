package dsql

import (
	"context"
	"testing"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/primitives"
)

// A queue with more messages than a transaction may change is emptied up to any of them.
func TestManyMessagesAreDeleted(t *testing.T) {
	o, ctx := newWorld(t), context.Background()
	made, err := o.f.NewQueueV2()
	if err != nil {
		t.Fatal(err)
	}
	name, kind := "queue-"+primitives.NewUUID().String(), persistence.QueueTypeHistoryDLQ
	if _, err := made.CreateQueue(ctx, &persistence.InternalCreateQueueRequest{QueueType: kind, QueueName: name}); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < 3600; from += 900 {
		rows := make([]sqlplugin.QueueV2MessageRow, 900)
		for i := range rows {
			rows[i] = sqlplugin.QueueV2MessageRow{QueueType: kind, QueueName: name, MessageID: int64(from + i), MessagePayload: []byte("message"), MessageEncoding: "Proto3"}
		}
		if _, err := o.f.db.InsertIntoQueueV2Messages(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	got, err := made.RangeDeleteMessages(ctx, &persistence.InternalRangeDeleteMessagesRequest{
		QueueType: kind, QueueName: name, InclusiveMaxMessageMetadata: persistence.MessageMetadata{ID: 3399},
	})
	if err != nil || got.MessagesDeleted != 3400 {
		t.Fatalf("%+v: %v", got, err)
	}
	rest, err := made.ReadMessages(ctx, &persistence.InternalReadMessagesRequest{QueueType: kind, QueueName: name, PageSize: 1000})
	if err != nil || len(rest.Messages) != 200 || rest.Messages[0].MetaData.ID != 3400 {
		t.Fatalf("%d messages are left: %v", len(rest.Messages), err)
	}
}
