// pgx: a pool, transactions, its cache of prepared statements, a batch, settings, errors, COPY.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	_, err = conn.Exec(ctx, "delete from visits where who = $1", "pgx")
	must(err)
	tx, err := conn.Begin(ctx)
	must(err)
	for i := 0; i < 10; i++ {
		_, err = tx.Exec(ctx, "insert into visits values ($1, $2, $3)", fmt.Sprint("pgx ", i), "pgx", i)
		must(err)
	}
	must(tx.Commit(ctx))
	for i := 0; i < 10; i++ {
		var n int
		must(conn.QueryRow(ctx, "select n from visits where id = $1", fmt.Sprint("pgx ", i)).Scan(&n))
		if n != i {
			panic(n)
		}
	}
	batch := &pgx.Batch{}
	for i := 0; i < 5; i++ {
		batch.Queue("update visits set n = n + 1 where id = $1", fmt.Sprint("pgx ", i))
	}
	must(conn.SendBatch(ctx, batch).Close())
	var failure *pgconn.PgError
	_, err = conn.Exec(ctx, "insert into visits values ('pgx 0', 'pgx', 0)")
	if !errors.As(err, &failure) || failure.Code != "23505" {
		panic(err)
	}
	_, err = conn.Exec(ctx, "set timezone to 'Asia/Tokyo'")
	must(err)
	var zone string
	must(conn.QueryRow(ctx, "show timezone").Scan(&zone))
	if zone != "Asia/Tokyo" {
		panic(zone)
	}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"visits"}, []string{"id", "who", "n"},
		pgx.CopyFromRows([][]any{{"pgx copied", "pgx", 99}}))
	must(err)
	var sum int
	must(conn.QueryRow(ctx, "select sum(n)::int from visits where who = 'pgx'").Scan(&sum))
	if count != 1 || sum != 45+5+99 {
		panic(sum)
	}
	must(conn.Close(ctx))
	fmt.Println("ok")
}
