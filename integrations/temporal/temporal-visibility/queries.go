package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// Random queries: a tree that can be made smaller, and its text.

// A node is a leaf, with an operator and its arguments, or joins its kids by AND, OR or NOT.
type node struct {
	join string
	kids []*node
	// a leaf
	name, operator string
	arguments      []string
	// kids of AND and OR that join in turn stand in parentheses, unless this says no
	bare bool
}

func (n *node) text() string {
	switch n.join {
	case "":
		switch n.operator {
		case "IN", "NOT IN":
			return fmt.Sprintf("%s %s (%s)", n.name, n.operator, strings.Join(n.arguments, ", "))
		case "BETWEEN", "NOT BETWEEN":
			return fmt.Sprintf("%s %s %s AND %s", n.name, n.operator, n.arguments[0], n.arguments[1])
		case "IS NULL", "IS NOT NULL":
			return n.name + " " + n.operator
		default:
			return fmt.Sprintf("%s %s %s", n.name, n.operator, n.arguments[0])
		}
	case "NOT":
		return "NOT (" + n.kids[0].text() + ")"
	default:
		parts := make([]string, len(n.kids))
		for i, kid := range n.kids {
			parts[i] = kid.text()
			if (kid.join == "AND" || kid.join == "OR") && !n.bare {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, " "+n.join+" ")
	}
}

// A query is a list, read in pages, and a count; or a count by groups; or what one run is.
type query struct {
	number    int
	namespace string
	chasm     bool
	where     *node  // nil for all
	tail      string // what follows the tree, or all of a query that has none
	groupBy   string
	page      int // a wish: lists with many runs get larger pages
}

func (q *query) text() string {
	text := q.tail
	if q.where != nil {
		text = strings.TrimSpace(q.where.text() + " " + text)
	}
	if q.groupBy != "" {
		text = strings.TrimSpace(text + " GROUP BY " + q.groupBy)
	}
	return text
}

func (q *query) String() string {
	what := "workflows"
	if q.chasm {
		what = "CHASM executions"
	}
	return fmt.Sprintf("query %d, %s of namespace %s, pages of %d: %s", q.number, what, q.namespace[:8], q.page, q.text())
}

// column is something that a query can name. kind is a type, or 0 for a column that has literals of its own.
type column struct {
	name string
	kind enumspb.IndexedValueType
}

var systemColumns = []column{
	{sadefs.WorkflowID, typeKeyword}, {sadefs.WorkflowType, typeKeyword}, {sadefs.TaskQueue, typeKeyword}, {sadefs.RunID, typeKeyword},
	{sadefs.ParentWorkflowID, typeKeyword}, {sadefs.ParentRunID, typeKeyword}, {sadefs.RootWorkflowID, typeKeyword},
	{sadefs.RootRunID, typeKeyword}, {sadefs.ExecutionStatus, typeKeyword}, {sadefs.ExecutionStatus, typeKeyword},
	{sadefs.ExecutionStatus, typeKeyword}, {sadefs.StartTime, typeDatetime}, {sadefs.StartTime, typeDatetime},
	{sadefs.CloseTime, typeDatetime}, {sadefs.CloseTime, typeDatetime}, {sadefs.ExecutionTime, typeDatetime},
	{sadefs.ExecutionDuration, typeInt}, {sadefs.HistoryLength, typeInt}, {sadefs.HistorySizeBytes, typeInt},
	{sadefs.StateTransitionCount, typeInt}, {sadefs.TemporalNamespaceDivision, typeKeyword},
}

var runColumns, chasmColumns = func() ([]column, []column) {
	runs, things := slices.Clone(systemColumns), slices.Clone(systemColumns)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		runs = append(runs, column{name, attributes[name]})
	}
	for alias, name := range map[string]string{
		"ThingBool": "TemporalBool01", "ThingTime": "TemporalDatetime01", "ThingInt": "TemporalInt01", "ThingDouble": "TemporalDouble01",
		"ThingKeyword": "TemporalKeyword01", "ThingKind": "TemporalLowCardinalityKeyword01", "ThingList": "TemporalKeywordList01",
	} {
		things = append(things, column{alias, chasmAttributes[name]})
	}
	slices.SortStableFunc(things, func(a, b column) int { return strings.Compare(a.name, b.name) })
	return runs, append(things, column{"ThingId", typeKeyword})
}()

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

var statuses = []string{
	"'Running'", "'Completed'", "'Failed'", "'Canceled'", "'Terminated'", "'ContinuedAsNew'", "'TimedOut'", "'Paused'", "1", "2",
	"'WORKFLOW_EXECUTION_STATUS_RUNNING'",
}

var durations = []string{"'1h'", "'00:30:00'", "'90m'", "'10ms'", "'-1s'", "3600000000000", "0"}

// literal is one that suits the column.
func literal(r *rand.Rand, seed uint64, runs int, c column) string {
	aRun := func() *write { return &writesOf(seed, r.IntN(runs))[0] }
	switch c.name {
	case sadefs.ExecutionStatus:
		return pick(r, statuses)
	case sadefs.ExecutionDuration:
		if r.IntN(2) == 0 {
			return strconv.FormatInt(int64(aRun().duration), 10)
		}
		return pick(r, durations)
	case sadefs.HistoryLength, sadefs.HistorySizeBytes, sadefs.StateTransitionCount:
		return strconv.Itoa(r.IntN(60))
	case sadefs.WorkflowID, "ThingId":
		if r.IntN(2) == 0 {
			return quoted(aRun().workflowID)
		}
		return quoted(pick(r, workflowIDs))
	case sadefs.WorkflowType:
		return quoted(pick(r, workflowTypes))
	case sadefs.TaskQueue:
		return quoted(pick(r, taskQueues))
	case sadefs.RunID, sadefs.RootRunID:
		return quoted(aRun().rootRun)
	case sadefs.ParentRunID:
		if run := aRun(); run.parentRun != nil {
			return quoted(*run.parentRun)
		}
		return "'none'"
	case sadefs.ParentWorkflowID, sadefs.RootWorkflowID:
		return quoted(pick(r, workflowIDs))
	case sadefs.TemporalNamespaceDivision:
		return quoted(pick(r, append(divisions, strconv.Itoa(int(archetype)))))
	}
	switch c.kind {
	case typeKeyword, typeList:
		return quoted(pick(r, keywords))
	case typeText:
		return quoted(strings.Join(append(some(r, words, 2), pick(r, words)), pick(r, []string{" ", "  "})))
	case typeInt:
		if r.IntN(6) == 0 {
			return pick(r, []string{"1.5", "-0.5", "1e3", "99999999999999999999"})
		}
		return strconv.FormatInt(pick(r, ints[:len(ints)-1]), 10) // the least one has no literal
	case typeDouble:
		return strconv.FormatFloat(pick(r, doubles), 'f', -1, 64)
	case typeBool:
		return pick(r, []string{"true", "false"})
	default:
		at := instant(r)
		switch c.name {
		case sadefs.StartTime, sadefs.CloseTime, sadefs.ExecutionTime:
			if run := aRun(); r.IntN(3) == 0 && run.kind != deleted {
				at = run.start
			}
			if r.IntN(3) == 0 {
				at = origin.Add(5 * time.Hour)
			}
		default:
			at = at.Truncate(time.Microsecond)
		}
		if r.IntN(6) == 0 {
			return strconv.FormatInt(at.UnixNano(), 10)
		}
		if r.IntN(4) == 0 {
			at = at.In(time.FixedZone("", -5*60*60))
		}
		return quoted(at.Format(time.RFC3339Nano))
	}
}

var (
	scalar   = []string{"=", "=", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "IS NULL", "IS NOT NULL"}
	operated = map[enumspb.IndexedValueType][]string{
		typeKeyword: append([]string{"STARTS_WITH", "STARTS_WITH", "NOT STARTS_WITH", "=", "=", "IN"}, scalar...),
		typeText:    {"=", "=", "!=", "IS NULL", "IS NOT NULL"},
		typeList:    {"=", "=", "!=", "IN", "NOT IN", "IS NULL", "IS NOT NULL"},
		typeBool:    {"=", "!=", "<", ">=", "IN", "NOT IN", "IS NULL", "IS NOT NULL"},
		typeInt:     scalar, typeDouble: scalar, typeDatetime: scalar,
	}
)

func leaf(r *rand.Rand, seed uint64, runs int, columns []column) *node {
	c := pick(r, columns)
	n := &node{name: c.name, operator: pick(r, operated[c.kind])}
	if r.IntN(60) == 0 { // what no store takes, or every store
		n.operator = pick(r, operated[typeKeyword])
	}
	arguments := 1
	switch n.operator {
	case "IN", "NOT IN":
		arguments += r.IntN(4)
	case "BETWEEN", "NOT BETWEEN":
		arguments = 2
	case "IS NULL", "IS NOT NULL":
		arguments = 0
	}
	for range arguments {
		n.arguments = append(n.arguments, literal(r, seed, runs, c))
	}
	if n.operator == "STARTS_WITH" || n.operator == "NOT STARTS_WITH" {
		if text := strings.Trim(n.arguments[0], "'"); c.name != sadefs.ExecutionStatus && len(n.arguments[0]) > 2 && r.IntN(3) > 0 {
			runes := []rune(strings.ReplaceAll(text, "''", "'"))
			n.arguments[0] = quoted(string(runes[:1+r.IntN(len(runes))]))
		}
	}
	if r.IntN(80) == 0 {
		n.arguments = slices.Clone(n.arguments)
		for i := range n.arguments {
			n.arguments[i] = pick(r, []string{"'text'", "5", "true", "bare"})
		}
	}
	if r.IntN(150) == 0 {
		n.name = "NoSuchAttribute"
	}
	return n
}

func tree(r *rand.Rand, depth int, leaf func() *node) *node {
	if depth == 0 || r.IntN(3) == 0 {
		return leaf()
	}
	switch r.IntN(7) {
	case 0:
		return &node{join: "NOT", kids: []*node{tree(r, depth-1, leaf)}}
	case 1, 2, 3:
		n := &node{join: "AND", bare: r.IntN(4) == 0}
		for range 2 + r.IntN(2) {
			n.kids = append(n.kids, tree(r, depth-1, leaf))
		}
		return n
	default:
		n := &node{join: "OR", bare: r.IntN(4) == 0}
		for range 2 + r.IntN(2) {
			n.kids = append(n.kids, tree(r, depth-1, leaf))
		}
		return n
	}
}

// queryOf is query number i.
func queryOf(seed uint64, runs, i int) *query {
	r := rand.New(rand.NewPCG(seed^0x9e3779b97f4a7c15, uint64(i)))
	q := &query{number: i, namespace: namespaces[min(r.IntN(8), len(namespaces)-1)], page: pick(r, []int{1, 2, 3, 7, 10, 50, 100, 1000})}
	columns := runColumns
	if r.IntN(6) == 0 {
		q.chasm, columns = true, chasmColumns
	}
	if r.IntN(20) > 0 {
		q.where = tree(r, r.IntN(4), func() *node { return leaf(r, seed, runs, columns) })
	}
	switch r.IntN(60) {
	case 0:
		q.tail = "ORDER BY StartTime DESC"
	case 1:
		q.tail = "LIMIT 5"
	}
	if r.IntN(6) == 0 && q.tail == "" {
		q.groupBy = pick(r, []string{"ExecutionStatus", "ExecutionStatus", "TemporalNamespaceDivision"})
		if q.chasm && r.IntN(2) == 0 {
			q.groupBy = "ThingKind"
		}
		if r.IntN(20) == 0 {
			q.groupBy = pick(r, []string{"WorkflowType", "ExecutionStatus, WorkflowType", "NoSuchAttribute"})
		}
	}
	return q
}
