package dsql

import (
	"context"
	"database/sql"
)

// crud holds the methods of every table, on the pool or, with a tx, inside a transaction.
type crud struct {
	e  *engine
	tx *txState
}

// exec runs a method that changes rows.
func (q crud) exec(ctx context.Context, in *args) (sql.Result, error) {
	got, err := q.e.call(ctx, q.tx, in)
	if err != nil {
		return nil, inner(err)
	}
	return result(got.affected), nil
}

// cas is exec for methods whose inputs hold the expected token. Temporal's stores look at the count.
func (q crud) cas(ctx context.Context, in *args) (sql.Result, error) {
	res, err := q.exec(ctx, in)
	if isConditionFailed(err) {
		return result(0), nil
	}
	return res, err
}

// execRows is exec with any number of inputs, which row adds one by one.
func execRows[R any](ctx context.Context, q crud, rows []R, row func(*args, *R)) (sql.Result, error) {
	if len(rows) == 0 {
		return result(0), nil
	}
	var in args
	for i := range rows {
		row(&in, &rows[i])
	}
	return q.exec(ctx, &in)
}

func (q crud) query(ctx context.Context, in *args) (answer, error) {
	return q.e.call(ctx, q.tx, in)
}

// number is a query whose answer is one.
func (q crud) number(ctx context.Context, in *args) (int64, error) {
	a, err := q.query(ctx, in)
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
