package dsql

import (
	"math"

	"go.temporal.io/server/common/dynamicconfig"
)

// What the store carries of what Temporal's limits allow, computed from what a transaction of the service takes.

// Limit is one of Temporal's limits.
type Limit struct {
	Key     string // in lower case, as Temporal compares them
	Stock   int    // Temporal's default
	Carried int    // the most that the store carries
}

// Here is the limit on this store: Temporal's default, unless that is more than the store carries.
func (l Limit) Here() int { return min(l.Stock, l.Carried) }

const (
	// Rows of a transaction beside the things that it is about: the execution, the current run, history, timers,
	// tasks of other kinds.
	besideRows = 100
	// A thing that a workflow waits for is a row, and has a task, which shares a row with others.
	thingsAtOnce = (maxRows - besideRows) * packMax / (packMax + 1)
	// Values of one transaction, with as many rows around them as it may have.
	bytesAtOnce = maxBytes - maxRows*rowOverhead
	// What is written and deleted in portions, each a transaction.
	inPortions = math.MaxInt
)

// Limits are those that could be beyond the store.
func Limits() []Limit {
	stock := dynamicconfig.NewNoopCollection()
	of := func(setting dynamicconfig.NamespaceIntSetting, carried int) Limit {
		return Limit{setting.Key().String(), setting.Get(stock)(""), carried}
	}
	global := func(setting dynamicconfig.GlobalIntSetting, carried int) Limit {
		return Limit{setting.Key().String(), setting.Get(stock)(), carried}
	}
	return []Limit{
		// A payload may be in an event and in the state of the workflow, a memo for instance.
		of(dynamicconfig.BlobSizeLimitError, bytesAtOnce/2),
		of(dynamicconfig.MemoSizeLimitError, bytesAtOnce/2),
		// Temporal compares it with the events of one transaction.
		global(dynamicconfig.TransactionSizeLimit, bytesAtOnce),
		// A reset and a new run write the whole state; their history goes before, if it must.
		global(dynamicconfig.MutableStateSizeLimitError, bytesAtOnce),
		of(dynamicconfig.HistorySizeLimitError, inPortions),
		of(dynamicconfig.HistoryCountLimitError, inPortions),
		of(dynamicconfig.NumPendingActivitiesLimitError, thingsAtOnce),
		of(dynamicconfig.NumPendingChildExecutionsLimitError, thingsAtOnce),
		of(dynamicconfig.NumPendingSignalsLimitError, thingsAtOnce),
		of(dynamicconfig.NumPendingCancelRequestsLimitError, thingsAtOnce),
		// A buffered event is a row, and may end a thing, which is another one.
		global(dynamicconfig.MaximumBufferedEventsBatch, (maxRows-besideRows)/2),
		global(dynamicconfig.MaximumBufferedEventsSizeInBytes, bytesAtOnce),
		of(dynamicconfig.MaximumSignalsPerExecution, inPortions),
	}
}
