package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"go.temporal.io/server/common/primitives"
)

// value has the layout of struct bridge_value.
type value struct {
	kind   int32
	len    int32
	number int64
}

var _ [unsafe.Sizeof(value{}) - C.sizeof_struct_bridge_value]struct{}

// args are the inputs of a call: for each row its fields, in the order of the catalogue. catalog.go has a method
// for each operation, which adds one row.
type args struct {
	op     C.int
	values []value
	bytes  []byte
	rows   int
}

func (a *args) fields() int {
	if a.rows == 0 {
		return 0
	}
	return len(a.values) / a.rows
}

// Temporal's zero time, as its own PostgreSQL plugin keeps it.
var zeroTime = time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)

func micros(t time.Time) int64 {
	if t.IsZero() {
		t = zeroTime
	}
	return t.UTC().Truncate(time.Microsecond).UnixMicro()
}

// row adds one input. nil is NULL; so is an empty one of a nullable field if its slice is nil.
func (a *args) row(op C.int, fields ...any) *args {
	a.op = op
	a.rows++
	for _, field := range fields {
		a.add(field)
	}
	return a
}

func (a *args) add(field any) {
	switch v := field.(type) {
	case nil:
		a.values = append(a.values, value{kind: C.BRIDGE_NULL})
	case int32:
		a.number(int64(v))
	case int64:
		a.number(v)
	case int:
		a.number(int64(v))
	case uint32:
		a.number(int64(v))
	case uint16:
		a.number(int64(v))
	case bool:
		if v {
			a.number(1)
		} else {
			a.number(0)
		}
	case string:
		a.blob([]byte(v))
	case primitives.UUID:
		a.blob(v)
	case []byte:
		if v == nil {
			a.values = append(a.values, value{kind: C.BRIDGE_NO_BYTES})
		} else {
			a.blob(v)
		}
	case time.Time:
		a.number(micros(v))
	case *time.Time:
		if v == nil {
			a.add(nil)
		} else {
			a.add(*v)
		}
	case *int:
		if v == nil {
			a.add(nil)
		} else {
			a.add(*v)
		}
	case *int64:
		if v == nil {
			a.add(nil)
		} else {
			a.add(*v)
		}
	default:
		panic(fmt.Sprintf("dsql: no way to pass a %T", field))
	}
}

func (a *args) number(n int64) {
	a.values = append(a.values, value{kind: C.BRIDGE_NUMBER, number: n})
}

func (a *args) blob(b []byte) {
	a.values = append(a.values, value{kind: C.BRIDGE_BYTES, len: int32(len(b)), number: int64(len(a.bytes))})
	a.bytes = append(a.bytes, b...)
}

// optional is NULL for the zero value.
func optional[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func optionalBytes(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// flat is values behind each other in one piece of memory, as libdsql's src/base/flat.h has them. They are taken one by
// one.
type flat struct{ data []byte }

func (f *flat) next() []byte {
	n := int32(binary.NativeEndian.Uint32(f.data))
	f.data = f.data[4:]
	if n < 0 {
		return nil
	}
	field := f.data[:n:n]
	f.data = f.data[n:]
	return field
}

// i64 is 0 for NULL.
func (f *flat) i64() int64 {
	if field := f.next(); field != nil {
		return int64(binary.NativeEndian.Uint64(field))
	}
	return 0
}

func (f *flat) text() string { return string(f.next()) }

// answer is what a call brought back. Rows are read field by field, in the order of the catalogue.
type answer struct {
	affected int64
	rows     int
	flat
}

func (a *answer) i32() int32    { return int32(a.i64()) }
func (a *answer) bool() bool    { return a.i64() != 0 }
func (a *answer) bytes() []byte { return a.next() }

func (a *answer) time() time.Time {
	t := time.UnixMicro(a.i64()).UTC()
	if t.Equal(zeroTime) {
		return time.Time{}.UTC()
	}
	return t
}

func (a *answer) optionalTime() *time.Time {
	field := a.next()
	if field == nil {
		return nil
	}
	t := time.UnixMicro(int64(binary.NativeEndian.Uint64(field))).UTC()
	if t.Equal(zeroTime) {
		t = time.Time{}.UTC()
	}
	return &t
}

// result is a sql.Result.
type result int64

func (result) LastInsertId() (int64, error) {
	return 0, errors.New("dsql: ids are the caller's")
}

func (r result) RowsAffected() (int64, error) {
	if r < 0 {
		return 0, errors.New("dsql: not known before the transaction's next answer")
	}
	return int64(r), nil
}
