package dsql

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/temporalio/sqlparser"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/persistence/visibility/store/query"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// A visibilityExpr is a query's condition as libdsql takes it, without the byte for the version: the encoding
// is that of src/visibility/expr.h. nil is no condition.
type visibilityExpr []byte

// visibilityConverter makes expressions of what Temporal's parser finds. Which runs an expression selects is
// libdsql's business.
type visibilityConverter struct{}

var _ query.StoreQueryConverter[visibilityExpr] = visibilityConverter{}

const visibilityVersion = 1

// The numbers of src/visibility/expr.h.
const (
	visibilityIn = iota + 1
	visibilityNotIn
	visibilityLess
	visibilityAtMost
	visibilityMore
	visibilityAtLeast
	visibilityBetween
	visibilityNotBetween
	visibilityIsNull
	visibilityNotNull
	visibilityStarts
	visibilityNotStarts
)

var visibilityOps = map[string]byte{
	sqlparser.EqualStr:         visibilityIn,
	sqlparser.InStr:            visibilityIn,
	sqlparser.NotEqualStr:      visibilityNotIn,
	sqlparser.NotInStr:         visibilityNotIn,
	sqlparser.LessThanStr:      visibilityLess,
	sqlparser.LessEqualStr:     visibilityAtMost,
	sqlparser.GreaterThanStr:   visibilityMore,
	sqlparser.GreaterEqualStr:  visibilityAtLeast,
	sqlparser.BetweenStr:       visibilityBetween,
	sqlparser.NotBetweenStr:    visibilityNotBetween,
	sqlparser.IsNullStr:        visibilityIsNull,
	sqlparser.IsNotNullStr:     visibilityNotNull,
	sqlparser.StartsWithStr:    visibilityStarts,
	sqlparser.NotStartsWithStr: visibilityNotStarts,
}

// encode is the whole of it, as libdsql takes it.
func (e visibilityExpr) encode() []byte {
	if e == nil {
		e = visibilityExpr{'A', 0, 0}
	}
	return append([]byte{visibilityVersion}, e...)
}

// GetDatetimeFormat: all that Temporal's parser knows of a time.
func (visibilityConverter) GetDatetimeFormat() string { return time.RFC3339Nano }

func (visibilityConverter) BuildParenExpr(expr visibilityExpr) (visibilityExpr, error) {
	return expr, nil
}

func (visibilityConverter) BuildNotExpr(expr visibilityExpr) (visibilityExpr, error) {
	return append(visibilityExpr{'N'}, expr...), nil
}

func (visibilityConverter) BuildAndExpr(exprs ...visibilityExpr) (visibilityExpr, error) {
	return joinVisibility('A', exprs)
}

func (visibilityConverter) BuildOrExpr(exprs ...visibilityExpr) (visibilityExpr, error) {
	return joinVisibility('O', exprs)
}

// What is nil is no condition at all, and left out. A chain, which the parser nests to the left, becomes one
// node: the depth of an expression is bounded.
func joinVisibility(kind byte, exprs []visibilityExpr) (visibilityExpr, error) {
	count := 0
	var children []byte
	var only visibilityExpr
	for _, expr := range exprs {
		if expr == nil {
			continue
		}
		only = expr
		if expr[0] == kind {
			count += int(binary.BigEndian.Uint16(expr[1:]))
			children = append(children, expr[3:]...)
		} else {
			count++
			children = append(children, expr...)
		}
	}
	if count > math.MaxUint16 {
		return nil, query.NewConverterError("%s: too many conditions", query.NotSupportedErrMessage)
	}
	if count <= 1 {
		return only, nil
	}
	return append(binary.BigEndian.AppendUint16(visibilityExpr{kind}, uint16(count)), children...), nil
}

func (visibilityConverter) ConvertComparisonExpr(op string, col *query.SAColumn, value any) (visibilityExpr, error) {
	return compareVisibility(op, col, value)
}

func (visibilityConverter) ConvertKeywordComparisonExpr(op string, col *query.SAColumn, value any) (visibilityExpr, error) {
	if op == sqlparser.StartsWithStr || op == sqlparser.NotStartsWithStr {
		if _, ok := value.(string); !ok || col.FieldName == sadefs.ExecutionStatus {
			return nil, query.NewConverterError("%s: right-hand side of %q operator must be a literal string (got: %v)",
				query.InvalidExpressionErrMessage, op, value)
		}
	}
	return compareVisibility(op, col, value)
}

func (visibilityConverter) ConvertKeywordListComparisonExpr(op string, col *query.SAColumn, value any) (visibilityExpr, error) {
	return compareVisibility(op, col, value)
}

// A text is compared word by word: one of them is enough.
func (visibilityConverter) ConvertTextComparisonExpr(op string, col *query.SAColumn, value any) (visibilityExpr, error) {
	text, ok := value.(string)
	if !ok {
		return nil, query.NewConverterError("%s: unexpected value type (expected string, got %v)",
			query.InvalidExpressionErrMessage, value)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
	if len(words) == 0 {
		return nil, query.NewConverterError("%s: unexpected value for Text type search attribute (no tokens found)",
			query.InvalidExpressionErrMessage)
	}
	values := make([]any, len(words))
	for i, word := range words {
		values[i] = word
	}
	if op == sqlparser.EqualStr {
		op = sqlparser.InStr
	} else {
		op = sqlparser.NotInStr
	}
	return compareVisibility(op, col, values)
}

func (visibilityConverter) ConvertRangeExpr(op string, col *query.SAColumn, from, to any) (visibilityExpr, error) {
	return encodeVisibility(visibilityOps[op], col, []any{from, to})
}

func (visibilityConverter) ConvertIsExpr(op string, col *query.SAColumn) (visibilityExpr, error) {
	return encodeVisibility(visibilityOps[op], col, nil)
}

func compareVisibility(op string, col *query.SAColumn, value any) (visibilityExpr, error) {
	values, many := value.([]any)
	if takesMany := op == sqlparser.InStr || op == sqlparser.NotInStr; many != takesMany {
		return nil, query.NewConverterError("%s: operator %q can't be used with %v",
			query.InvalidExpressionErrMessage, op, value)
	}
	if !many {
		values = []any{value}
	}
	return encodeVisibility(visibilityOps[op], col, values)
}

// visibilityType is the type under which libdsql knows an attribute: a status is a number.
func visibilityType(col *query.SAColumn) enumspb.IndexedValueType {
	if col.FieldName == sadefs.ExecutionStatus {
		return enumspb.INDEXED_VALUE_TYPE_INT
	}
	return col.ValueType
}

func encodeVisibility(op byte, col *query.SAColumn, values []any) (visibilityExpr, error) {
	kind := visibilityType(col)
	if op == 0 || len(col.FieldName) > math.MaxUint8 || len(values) > math.MaxUint16 {
		return nil, query.NewConverterError("%s: %s", query.NotSupportedErrMessage, col.Alias)
	}
	if kind == enumspb.INDEXED_VALUE_TYPE_INT {
		var err error
		if op, values, err = wholeNumbers(op, col, values); err != nil {
			return nil, err
		}
	}
	out := visibilityExpr{'C', op, byte(kind), byte(len(col.FieldName))}
	out = append(out, col.FieldName...)
	out = binary.BigEndian.AppendUint16(out, uint16(len(values)))
	for _, value := range values {
		var err error
		if out, err = appendVisibilityValue(out, kind, col, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appendVisibilityValue(
	out visibilityExpr, kind enumspb.IndexedValueType, col *query.SAColumn, value any,
) (visibilityExpr, error) {
	switch kind {
	case enumspb.INDEXED_VALUE_TYPE_INT:
		if v, ok := value.(int64); ok {
			return binary.BigEndian.AppendUint64(out, uint64(v)), nil
		}
	case enumspb.INDEXED_VALUE_TYPE_DOUBLE:
		switch v := value.(type) {
		case int64:
			return binary.BigEndian.AppendUint64(out, math.Float64bits(float64(v))), nil
		case float64:
			return binary.BigEndian.AppendUint64(out, math.Float64bits(v)), nil
		}
	case enumspb.INDEXED_VALUE_TYPE_BOOL:
		if v, ok := value.(bool); ok {
			if v {
				return append(out, 1), nil
			}
			return append(out, 0), nil
		}
	case enumspb.INDEXED_VALUE_TYPE_DATETIME:
		if text, ok := value.(string); ok {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				break
			}
			out = binary.BigEndian.AppendUint64(out, uint64(at.Unix()))
			return binary.BigEndian.AppendUint32(out, uint32(at.Nanosecond())), nil
		}
	default:
		if v, ok := value.(string); ok {
			if strings.IndexByte(v, 0) >= 0 {
				return nil, query.NewConverterError("%s: the value for %s has a zero byte",
					query.InvalidExpressionErrMessage, col.Alias)
			}
			out = binary.BigEndian.AppendUint32(out, uint32(len(v)))
			return append(out, v...), nil
		}
	}
	return nil, query.NewConverterError("%s: unexpected value %v for %s", query.InvalidExpressionErrMessage,
		value, col.Alias)
}

// wholeNumbers turns the values for an integer into integers: a status by its name, a fraction by what it
// means among integers. Where no integer can be meant, the comparison becomes a range that nothing is in, so
// that it stays unknown for runs without the attribute.
func wholeNumbers(op byte, col *query.SAColumn, values []any) (byte, []any, error) {
	out := make([]any, 0, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case int64:
			out = append(out, v)
		case string:
			status, err := enumspb.WorkflowExecutionStatusFromString(v)
			if err != nil || col.FieldName != sadefs.ExecutionStatus {
				return 0, nil, query.NewConverterError("%s: unexpected value %v for %s",
					query.InvalidExpressionErrMessage, v, col.Alias)
			}
			out = append(out, int64(status))
		case float64:
			whole, some := wholeNumber(&op, v, i)
			if some {
				out = append(out, whole)
			} else if op != visibilityIn && op != visibilityNotIn {
				return noNumber(op)
			}
		default:
			return 0, nil, query.NewConverterError("%s: unexpected value %v for %s",
				query.InvalidExpressionErrMessage, value, col.Alias)
		}
	}
	if len(out) == 0 && len(values) > 0 {
		return noNumber(op)
	}
	return op, out, nil
}

func noNumber(op byte) (byte, []any, error) {
	nothing := []any{int64(1), int64(0)}
	if op == visibilityNotIn || op == visibilityNotBetween {
		return visibilityNotBetween, nothing, nil
	}
	return visibilityBetween, nothing, nil
}

// wholeNumber says which integer a fraction stands for in a comparison; false if there is none. i is its place
// among the comparison's values: x < 1.5 is x < 2, x <= 1.5 is x <= 1, x BETWEEN 1.5 AND 2.5 is from 2 to 2.
func wholeNumber(op *byte, v float64, i int) (int64, bool) {
	const beyond = float64(1 << 63)
	isLower := *op == visibilityMore || *op == visibilityAtLeast ||
		(i == 0 && (*op == visibilityBetween || *op == visibilityNotBetween))
	if v >= beyond || v < -beyond {
		if *op == visibilityIn || *op == visibilityNotIn || isLower == (v > 0) {
			return 0, false
		}
		switch *op {
		case visibilityLess:
			*op = visibilityAtMost
		case visibilityMore:
			*op = visibilityAtLeast
		}
		if v > 0 {
			return math.MaxInt64, true
		}
		return math.MinInt64, true
	}
	floor := math.Floor(v)
	if floor == v {
		return int64(v), true
	}
	switch *op {
	case visibilityIn, visibilityNotIn:
		return 0, false
	case visibilityLess, visibilityAtLeast:
		return int64(floor) + 1, true
	case visibilityBetween, visibilityNotBetween:
		if i == 0 {
			return int64(floor) + 1, true
		}
	}
	return int64(floor), true
}
