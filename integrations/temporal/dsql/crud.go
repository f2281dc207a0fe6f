package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"database/sql"
)

// crud holds the methods of every table, on the pool or, with a tx, inside a transaction.
type crud struct {
	e  *engine
	tx *txState
}

// exec runs a method that changes rows, with one input.
func (q crud) exec(ctx context.Context, op C.int, fields ...any) (sql.Result, error) {
	var a args
	a.row(fields...)
	got, err := q.e.call(ctx, q.tx, op, &a)
	if err != nil {
		return nil, inner(err)
	}
	return result(got.affected), nil
}

// cas is exec for methods whose inputs hold the expected token. Temporal's stores look at the count.
func (q crud) cas(ctx context.Context, op C.int, fields ...any) (sql.Result, error) {
	res, err := q.exec(ctx, op, fields...)
	if isConditionFailed(err) {
		return result(0), nil
	}
	return res, err
}

// execRows is exec with any number of inputs.
func execRows[R any](ctx context.Context, q crud, op C.int, rows []R, row func(*args, *R)) (sql.Result, error) {
	var a args
	for i := range rows {
		row(&a, &rows[i])
	}
	got, err := q.e.call(ctx, q.tx, op, &a)
	if err != nil {
		return nil, inner(err)
	}
	return result(got.affected), nil
}

func (q crud) query(ctx context.Context, op C.int, fields ...any) (answer, error) {
	var a args
	a.row(fields...)
	return q.e.call(ctx, q.tx, op, &a)
}

// number is a query whose answer is one.
func (q crud) number(ctx context.Context, op C.int, fields ...any) (int64, error) {
	a, err := q.query(ctx, op, fields...)
	if err != nil {
		return 0, err
	}
	return a.i64(), nil
}

// list reads all rows; none is a nil slice.
func list[R any](a answer, err error, read func(*answer) R) ([]R, error) {
	if err != nil || a.rows == 0 {
		return nil, err
	}
	rows := make([]R, a.rows)
	for i := range rows {
		rows[i] = read(&a)
	}
	return rows, nil
}

// one reads the row of a method that has exactly one.
func one[R any](a answer, err error, read func(*answer) R) (*R, error) {
	if err != nil {
		return nil, err
	}
	row := read(&a)
	return &row, nil
}
