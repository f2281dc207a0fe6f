package dsql

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/store/query"
	"go.temporal.io/server/common/searchattribute"
)

// unmapped gives each search attribute its own name.
type unmapped struct{}

func (unmapped) GetAlias(field, _ string) (string, error)     { return field, nil }
func (unmapped) GetFieldName(alias, _ string) (string, error) { return alias, nil }

func convertVisibility(t *testing.T, text string) (visibilityExpr, error) {
	t.Helper()
	params, err := newVisibilityConverter(namespace.Name("ns"),
		searchattribute.TestEsNameTypeMap(), unmapped{}, metrics.NoopMetricsHandler, log.NewNoopLogger()).
		WithArchetypeID(chasm.UnspecifiedArchetypeID).Convert(text)
	if err != nil {
		return nil, err
	}
	return params.QueryExpr, nil
}

func visibilityNode(op, kind byte, name string, values ...[]byte) []byte {
	out := append([]byte{'C', op, kind, byte(len(name))}, name...)
	out = binary.BigEndian.AppendUint16(out, uint16(len(values)))
	for _, value := range values {
		out = append(out, value...)
	}
	return out
}

func visibilityText(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func visibilityInt(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func visibilityReal(v float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)) }

func visibilityTime(at time.Time) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(at.Unix())), uint32(at.Nanosecond()))
}

func visibilityJoin(kind byte, children ...[]byte) []byte {
	out := binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(children)))
	for _, child := range children {
		out = append(out, child...)
	}
	return out
}

const (
	kindText, kindKeyword, kindInt, kindDouble, kindBool, kindTime, kindList = 1, 2, 3, 4, 5, 6, 7
)

var noDivision = visibilityNode(visibilityIsNull, kindKeyword, "TemporalNamespaceDivision")

// Every operator on every type, as libdsql takes it.
func TestVisibilityQueries(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)
	for text, wanted := range map[string][]byte{
		`ExecutionStatus = 'Running'`:                        visibilityNode(visibilityIn, kindInt, "ExecutionStatus", visibilityInt(1)),
		`ExecutionStatus IN ('Failed', 2)`:                   visibilityNode(visibilityIn, kindInt, "ExecutionStatus", visibilityInt(3), visibilityInt(2)),
		`WorkflowId = 'a''b'`:                                visibilityNode(visibilityIn, kindKeyword, "WorkflowId", visibilityText("a'b")),
		`WorkflowId != 'x'`:                                  visibilityNode(visibilityNotIn, kindKeyword, "WorkflowId", visibilityText("x")),
		`WorkflowId STARTS_WITH 'x%'`:                        visibilityNode(visibilityStarts, kindKeyword, "WorkflowId", visibilityText("x%")),
		`WorkflowId NOT STARTS_WITH 'x'`:                     visibilityNode(visibilityNotStarts, kindKeyword, "WorkflowId", visibilityText("x")),
		`WorkflowType BETWEEN 'a' AND 'b'`:                   visibilityNode(visibilityBetween, kindKeyword, "WorkflowType", visibilityText("a"), visibilityText("b")),
		`StartTime > '2026-01-02T03:04:05.123456789Z'`:       visibilityNode(visibilityMore, kindTime, "StartTime", visibilityTime(at)),
		`StartTime <= '2026-01-02T04:04:05.123456789+01:00'`: visibilityNode(visibilityAtMost, kindTime, "StartTime", visibilityTime(at)),
		`CloseTime IS NOT NULL`:                              visibilityNode(visibilityNotNull, kindTime, "CloseTime"),
		`ExecutionDuration >= '1m'`:                          visibilityNode(visibilityAtLeast, kindInt, "ExecutionDuration", visibilityInt(60e9)),
		`CustomIntField < -5`:                                visibilityNode(visibilityLess, kindInt, "CustomIntField", visibilityInt(-5)),
		`CustomIntField < 1.5`:                               visibilityNode(visibilityLess, kindInt, "CustomIntField", visibilityInt(2)),
		`CustomIntField <= 1.5`:                              visibilityNode(visibilityAtMost, kindInt, "CustomIntField", visibilityInt(1)),
		`CustomIntField >= 1.5`:                              visibilityNode(visibilityAtLeast, kindInt, "CustomIntField", visibilityInt(2)),
		`CustomIntField = 2.0`:                               visibilityNode(visibilityIn, kindInt, "CustomIntField", visibilityInt(2)),
		`CustomIntField = 1.5`:                               visibilityNode(visibilityBetween, kindInt, "CustomIntField", visibilityInt(1), visibilityInt(0)),
		`CustomIntField != 1.5`:                              visibilityNode(visibilityNotBetween, kindInt, "CustomIntField", visibilityInt(1), visibilityInt(0)),
		`CustomIntField IN (1.5, 3)`:                         visibilityNode(visibilityIn, kindInt, "CustomIntField", visibilityInt(3)),
		`CustomIntField BETWEEN 1.5 AND 3.5`:                 visibilityNode(visibilityBetween, kindInt, "CustomIntField", visibilityInt(2), visibilityInt(3)),
		`CustomDoubleField > 2`:                              visibilityNode(visibilityMore, kindDouble, "CustomDoubleField", visibilityReal(2)),
		`CustomBoolField = true`:                             visibilityNode(visibilityIn, kindBool, "CustomBoolField", []byte{1}),
		`CustomTextField = ' two  words '`:                   visibilityNode(visibilityIn, kindText, "CustomTextField", visibilityText("two"), visibilityText("words")),
		`CustomTextField != 'one'`:                           visibilityNode(visibilityNotIn, kindText, "CustomTextField", visibilityText("one")),
		`BuildIds = 'x'`:                                     visibilityNode(visibilityIn, kindList, "BuildIds", visibilityText("x")),
		`BuildIds NOT IN ('x', 'y')`:                         visibilityNode(visibilityNotIn, kindList, "BuildIds", visibilityText("x"), visibilityText("y")),
	} {
		got, err := convertVisibility(t, text)
		require.NoError(t, err, text)
		require.Equal(t, visibilityExpr(visibilityJoin('A', noDivision, wanted)), got, text)
	}
}

// Chains are one node, however long, and what is grouped otherwise is not mixed up.
func TestVisibilityTrees(t *testing.T) {
	id := func(v string) []byte {
		return visibilityNode(visibilityIn, kindKeyword, "WorkflowId", visibilityText(v))
	}
	for text, wanted := range map[string][]byte{
		``: noDivision,
		`WorkflowId='a' AND WorkflowId='b' AND WorkflowId='c'`: visibilityJoin('A', noDivision, id("a"), id("b"), id("c")),
		`WorkflowId='a' OR (WorkflowId='b' OR WorkflowId='c')`: visibilityJoin('A', noDivision, visibilityJoin('O', id("a"), id("b"), id("c"))),
		`NOT (WorkflowId='a' AND WorkflowId='b')`:              visibilityJoin('A', noDivision, append([]byte{'N'}, visibilityJoin('A', id("a"), id("b"))...)),
		`TemporalNamespaceDivision = 'x'`:                      visibilityNode(visibilityIn, kindKeyword, "TemporalNamespaceDivision", visibilityText("x")),
	} {
		got, err := convertVisibility(t, text)
		require.NoError(t, err, text)
		require.Equal(t, visibilityExpr(wanted), got, text)
	}
	require.Equal(t, []byte{1, 'A', 0, 0}, visibilityExpr(nil).encode())
}

// What can't be asked is refused in Temporal's own way.
func TestVisibilityRefusals(t *testing.T) {
	for _, text := range []string{
		`ExecutionStatus STARTS_WITH 'Run'`, `WorkflowId = ('a', 'b')`, `CustomTextField = ('a', 'b')`,
		`WorkflowId = 5`, `CustomIntField = 'x'`, `CustomTextField > 'x'`, `BuildIds < 'x'`, `Unknown = 'x'`,
	} {
		_, err := convertVisibility(t, text)
		var wrong *query.ConverterError
		require.ErrorAs(t, err, &wrong, text)
	}
}

// A fraction among integers, at the ends of what there is.
func TestVisibilityFractions(t *testing.T) {
	for _, c := range []struct {
		op, wantedOp byte
		v            float64
		i            int
		wanted       int64
		some         bool
	}{
		{visibilityLess, visibilityAtMost, 1e30, 0, math.MaxInt64, true},
		{visibilityMore, visibilityMore, 1e30, 0, 0, false},
		{visibilityMore, visibilityAtLeast, -1e30, 0, math.MinInt64, true},
		{visibilityAtMost, visibilityAtMost, -1e30, 0, 0, false},
		{visibilityIn, visibilityIn, 1e30, 0, 0, false},
		{visibilityBetween, visibilityBetween, -1e30, 0, math.MinInt64, true},
		{visibilityBetween, visibilityBetween, 1e30, 1, math.MaxInt64, true},
		{visibilityBetween, visibilityBetween, 1e30, 0, 0, false},
		{visibilityLess, visibilityLess, -9223372036854775808, 0, math.MinInt64, true},
	} {
		op := c.op
		got, some := wholeNumber(&op, c.v, c.i)
		require.Equal(t, c.some, some, c)
		if some {
			require.Equal(t, c.wanted, got, c)
			require.Equal(t, c.wantedOp, op, c)
		}
	}
}
