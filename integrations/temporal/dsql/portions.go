package dsql

import (
	"context"
	"strings"

	"go.temporal.io/server/common/persistence"
)

// isRefused tells whether an operation that has no error of its own for it was refused as too large.
func isRefused(err error) bool { return err != nil && strings.Contains(err.Error(), Refused) }

// deletePages deletes the messages of a queue page by page, each in a transaction of its own that also moves the
// queue's beginning. Temporal's store deletes them in one, however many there are.
func (s *queueV2) deletePages(ctx context.Context, request *persistence.InternalRangeDeleteMessagesRequest) (*persistence.InternalRangeDeleteMessagesResponse, error) {
	const page = 1000
	var deleted int64
	end := request.InclusiveMaxMessageMetadata.ID
	for last := int64(-1); last < end; {
		got, err := s.QueueV2.ReadMessages(ctx, &persistence.InternalReadMessagesRequest{
			QueueType: request.QueueType, QueueName: request.QueueName, PageSize: page,
		})
		if err != nil {
			return nil, err
		}
		if len(got.Messages) == 0 {
			break
		}
		last = got.Messages[len(got.Messages)-1].MetaData.ID
		portion := *request
		portion.InclusiveMaxMessageMetadata.ID = min(last, end)
		done, err := rerun(ctx, s.e, "RangeDeleteMessages", s.QueueV2.RangeDeleteMessages, &portion)
		if err != nil {
			return nil, err
		}
		deleted += done.MessagesDeleted
	}
	return &persistence.InternalRangeDeleteMessagesResponse{MessagesDeleted: deleted}, nil
}
