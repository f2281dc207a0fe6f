package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence"
)

// Error is what libdsql says about a failure.
type Error struct {
	Op       string
	Code     string // "CONFLICT", "COMMIT_UNKNOWN", ...: enum dsql_rc
	SQLState string
	Entity   string // of CONDITION_FAILED: "shard", "execution", ...
	Key      string // which one
	Message  string
	Hint     string
	rc       C.int
}

func newError(op string, rc C.int, err *C.struct_dsql_err) *Error {
	return &Error{
		Op:       op,
		Code:     C.GoString(C.dsql_rc_name(C.enum_dsql_rc(rc))),
		SQLState: C.GoString(&err.sqlstate[0]),
		Entity:   C.GoString(&err.entity[0]),
		Key:      C.GoString(&err.key[0]),
		Message:  C.GoString(&err.message[0]),
		Hint:     C.GoString(&err.hint[0]),
		rc:       rc,
	}
}

func (e *Error) Error() string {
	text := fmt.Sprintf("dsql: %s: %s", e.Op, e.Message)
	if e.SQLState != "" {
		text += " (SQLSTATE " + e.SQLState + ")"
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *Error) is(rc C.int) bool { return e.rc == rc }

const (
	rcCancelled       = C.DSQL_CANCELLED
	rcCommitUnknown   = C.DSQL_COMMIT_UNKNOWN
	rcConditionFailed = C.DSQL_CONDITION_FAILED
	rcTooLarge        = C.DSQL_TOO_LARGE
	rcDatabase        = C.DSQL_DATABASE
)

// outward is an error as Temporal's stores compare it: the bare sentinels where there is one.
func outward(ctx context.Context, err *Error) error {
	switch err.rc {
	case C.DSQL_NOT_FOUND:
		return sql.ErrNoRows
	case rcCancelled, C.DSQL_TIMEOUT, rcCommitUnknown:
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if _, limited := ctx.Deadline(); limited && err.is(C.DSQL_TIMEOUT) {
			return context.DeadlineExceeded
		}
	}
	return err
}

func is(err error, rc C.int) bool {
	var e *Error
	return errors.As(err, &e) && e.is(rc)
}

func isDuplicate(err error) bool       { return is(err, C.DSQL_DUPLICATE) }
func isConditionFailed(err error) bool { return is(err, rcConditionFailed) }

// Temporal's stores turn most errors into text. An outcome, which travels in the context, keeps what
// the one who re-runs operations has to know: whether a transaction met a conflict, and whether
// something may have been committed although nobody said so.
type outcome struct {
	sync.Mutex
	conflict  *Error // of a transaction; a call on the pool was already re-run by libdsql
	spent     *Error // not applied, and not to be run again here: libdsql has done that as often as it may
	condition *Error
	unknown   *Error
	refused   *Error // by the database for what it is, so it would be refused again
}

type outcomeKey struct{}

func withOutcome(ctx context.Context) (context.Context, *outcome) {
	o := &outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

func note(ctx context.Context, inTx bool, err *Error) {
	o, _ := ctx.Value(outcomeKey{}).(*outcome)
	if o == nil {
		return
	}
	o.Lock()
	defer o.Unlock()
	switch err.rc {
	case C.DSQL_CONFLICT, C.DSQL_SCHEMA_CHANGED:
		if inTx {
			o.conflict = err
		} else {
			o.spent = err
		}
	case C.DSQL_LOST: // before COMMIT was sent
		o.spent = err
	case rcConditionFailed:
		o.condition = err
	case rcCommitUnknown:
		o.unknown = err
	case rcTooLarge, rcDatabase:
		if refusal("", err) != nil {
			o.refused = err
		}
	}
}

// Of executions: Temporal's history service has an error of its own for what does not fit.
var executionOperations = map[string]bool{
	"CreateWorkflowExecution": true, "UpdateWorkflowExecution": true, "ConflictResolveWorkflowExecution": true,
	"SetWorkflowExecution": true, "AddHistoryTasks": true, "AppendHistoryNodes": true, "ForkHistoryBranch": true,
	"DeleteWorkflowExecution": true, "DeleteCurrentWorkflowExecution": true, "DeleteHistoryNodes": true, "DeleteHistoryBranch": true,
}

// What else the history service writes.
var shardOperations = map[string]bool{
	"GetOrCreateShard": true, "UpdateShard": true, "RangeCompleteHistoryTasks": true, "PutReplicationTaskToDLQ": true,
	"DeleteReplicationTaskFromDLQ": true, "RangeDeleteReplicationTaskFromDLQ": true,
}

// refusal is Temporal's error for what would fail each time: what does not fit a transaction of the service, and
// values that it does not take. Nothing was applied. After any other error Temporal would repeat the operation for
// ever, and acquire the shard anew each time. A workflow task whose outcome does not fit ends its workflow, with
// the reason; an API call is answered with InvalidArgument; a task of a history queue goes to the dead letters, since
// the server looks for Refused. nil for everything else.
func refusal(operation string, err *Error) error {
	wrongValue := err.is(rcDatabase) && strings.HasPrefix(err.SQLState, "22")
	text := err.Error() + "; " + Refused
	switch {
	case err.is(rcTooLarge) && executionOperations[operation]:
		return &persistence.TransactionSizeLimitError{Msg: text}
	case wrongValue && executionOperations[operation]:
		return &persistence.InvalidPersistenceRequestError{Msg: text}
	case err.is(rcTooLarge), wrongValue:
		return serviceerror.NewInvalidArgument(text)
	}
	return nil
}

// unknownOutcome is the error of a commit that was not answered. Temporal's own retries let it pass. Of executions and
// shards it is Temporal's timeout: the shard is acquired again, which settles it, and callers hear DeadlineExceeded. Only
// the history service has words for that timeout; what matching and the frontend write is DeadlineExceeded here already.
// Callers would hear "something went wrong" otherwise.
func unknownOutcome(operation string, err *Error) error {
	text := fmt.Sprintf("%s: %s", operation, err.Error())
	if executionOperations[operation] || shardOperations[operation] {
		return &persistence.TimeoutError{Msg: text}
	}
	return serviceerror.NewDeadlineExceeded(text)
}

// Refused is what every refusal says. Temporal's history queues repeat a task for an hour unless they are told what
// will not pass: history.TaskDLQErrorPattern.
const Refused = "it would be refused each time"

// inner is an error of a write inside a transaction: a fence that did not hold is Temporal's own error
// where it has one for the row, which its stores pass on.
func inner(err error) error {
	var e *Error
	if errors.As(err, &e) {
		if condition := conditionError(e); condition != nil {
			return condition
		}
	}
	return err
}

// conditionError is nil for what is no failed fence, and for rows that Temporal has no error for.
func conditionError(e *Error) error {
	if !e.is(rcConditionFailed) {
		return nil
	}
	switch e.Entity {
	case "current execution":
		return &persistence.CurrentWorkflowConditionFailedError{Msg: e.Error()}
	case "execution":
		return &persistence.WorkflowConditionFailedError{Msg: e.Error()}
	case "shard":
		shard, _ := strconv.ParseInt(e.Key, 10, 32)
		return &persistence.ShardOwnershipLostError{ShardID: int32(shard), Msg: e.Error()}
	}
	return nil
}
