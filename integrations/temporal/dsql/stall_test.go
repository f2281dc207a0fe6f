package dsql

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// Generous: nothing here is about speed, only about whether something happens at all.
const patience = 2 * time.Minute

// stall lets the endpoint answer nobody, and let nobody in, for longer than any test lasts.
func stall(t *testing.T) {
	t.Helper()
	fault(t, "stall=1h")
	t.Cleanup(func() { fault(t, "stall=0s") })
}

// threads is how many this process has.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// promptly runs a call that must not wait for the cluster, and fails the test where it would hang if it did.
func promptly(t *testing.T, what string, call func() error) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- call() }()
	select {
	case err := <-answer:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: waits for a cluster that does not answer", what)
		return nil
	}
}

// begin is a transaction that ends with the test, also with one that failed: the pool of the next test waits for its end.
func begin(t *testing.T, d *db, ctx context.Context) sqlplugin.Tx {
	t.Helper()
	tx, err := d.BeginTx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Hundreds of callers of a cluster that does not answer: as many as there are connections are in C and
// hold a thread, the rest wait as goroutines; and the end of their context wakes all of them, those in C
// too, while the cluster still does not answer.
func TestStalledCallsAreWoken(t *testing.T) {
	const places, callers = 4, 300
	t.Setenv("DSQL_RESERVOIR_EMPTY_WAIT", "1m")
	d := open(t, places)
	id := newShard(t, d)
	stall(t)
	before := threads(t)
	for round, name := range []string{"waiting for an answer", "waiting for a connection"} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		answers := make(chan error, callers)
		var begun atomic.Int64
		for range callers {
			go func() {
				begun.Add(1)
				_, err := d.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: id})
				answers <- err
			}()
		}
		eventually(t, "every place is taken", func() bool { return begun.Load() == callers && len(d.e.gate) >= places })
		time.Sleep(300 * time.Millisecond) // for those who should not get into C to get there
		if len(d.e.gate) != places {
			t.Fatalf("%s: %d callers are in C", name, len(d.e.gate))
		}
		// The runtime adds a few of its own for goroutines that run meanwhile.
		if more := threads(t) - before; more > callers/4 {
			t.Fatalf("%s: %d callers cost %d threads", name, callers, more)
		}
		cancel()
		for n := range callers {
			select {
			case err := <-answers:
				if err != context.Canceled {
					t.Fatalf("round %d, %s: %v", round, name, err)
				}
			case <-time.After(patience):
				t.Fatalf("round %d, %s: %d of %d callers were woken", round, name, n, callers)
			}
		}
		if len(d.e.gate) != 0 {
			t.Fatalf("%d places are taken", len(d.e.gate))
		}
	}
}

// Told to end while the cluster does not answer: who waits is woken, also with a context that never ends and inside a
// transaction, and who comes later is refused. An answer brings hope back.
func TestStalledCallsGiveUpWhenToldToEnd(t *testing.T) {
	const places, callers = 4, 20
	d := open(t, places)
	id := newShard(t, d)
	tx := begin(t, d, context.Background())
	read := func(from sqlplugin.TableCRUD) error {
		_, err := from.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: id})
		return err
	}
	stall(t)
	answers := make(chan error, callers)
	go func() { answers <- read(tx) }()
	for range callers - 1 {
		go func() { answers <- read(d) }()
	}
	eventually(t, "every place is taken", func() bool { return len(d.e.gate) == places })
	d.e.endLife()
	for n := range callers {
		select {
		case err := <-answers:
			if !errors.Is(err, errEnding) && !is(err, rcCancelled) {
				t.Fatalf("a caller was told: %v", err)
			}
		case <-time.After(patience):
			t.Fatalf("%d of %d callers gave up", n, callers)
		}
	}
	if err := promptly(t, "who comes later", func() error { return read(d) }); !errors.Is(err, errEnding) {
		t.Fatalf("who comes later: %v", err)
	}
	if err := promptly(t, "a rollback", tx.Rollback); err != nil {
		t.Fatal(err)
	}
	fault(t, "stall=0s")
	d.e.heard(0)
	eventually(t, "there are connections again", func() bool { return d.e.connections() > 0 })
	if err := read(d); err != nil {
		t.Fatalf("after an answer: %v", err)
	}
}

// A cluster that takes connections and answers nobody: /readyz says that it is not ready, and for how long, also if
// nobody uses the process, and that it is ready once there are answers again.
func TestStallIsNotReady(t *testing.T) {
	for _, used := range []bool{false, true} {
		d := open(t, 4)
		id := newShard(t, d)
		c := &Cluster{db: d}
		url, err := c.Watch("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		readyz := func() (int, string) {
			reply, err := http.Get(url + "readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reply.Body.Close() }()
			text, err := io.ReadAll(reply.Body)
			if err != nil {
				t.Fatal(err)
			}
			return reply.StatusCode, string(text)
		}
		says := func(status int, part string) func() bool {
			return func() bool {
				got, text := readyz()
				return got == status && strings.Contains(text, part)
			}
		}
		eventually(t, "ready", says(200, "ready"))
		stall(t)
		ctx, cancel := context.WithCancel(context.Background())
		var calls sync.WaitGroup
		if used {
			calls.Go(func() { _, _ = d.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: id}) })
		}
		eventually(t, "not ready while nobody is answered", says(503, "nothing was answered for"))
		eventually(t, "not ready with an error", says(503, "last error: "))
		fault(t, "stall=0s")
		eventually(t, "ready again", says(200, "ready"))
		cancel()
		calls.Wait()
		c.pages.stop()
	}
}

// A deadline ends a stalled call as well, as Temporal knows it.
func TestStalledCallEndsAtItsDeadline(t *testing.T) {
	d := open(t, 2)
	id := newShard(t, d)
	stall(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err := promptly(t, "a call with a deadline", func() error {
		_, err := d.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: id})
		return err
	})
	if err != context.DeadlineExceeded {
		t.Fatal(err)
	}
}

// Inside a transaction the context of the transaction wakes a statement, and so does the statement's own;
// a COMMIT that is woken may have happened.
func TestStalledTransactionIsWoken(t *testing.T) {
	d := open(t, 4)
	id := newShard(t, d)
	outer, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctx, o := withOutcome(outer)
	var txs [3]sqlplugin.Tx
	for i := range txs {
		txs[i] = begin(t, d, ctx)
		if _, err := txs[i].WriteLockShards(ctx, sqlplugin.ShardsFilter{ShardID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := txs[2].UpdateShards(ctx, shard(id, 1)); err != nil {
		t.Fatal(err)
	}
	stall(t)
	own, stop := context.WithCancel(context.Background())
	defer stop()
	first, second, commit := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := txs[0].SelectFromShards(own, sqlplugin.ShardsFilter{ShardID: id})
		first <- err
	}()
	go func() {
		_, err := txs[1].SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: id})
		second <- err
	}()
	go func() { commit <- txs[2].Commit() }()
	woken := func(name string, answer chan error) error {
		select {
		case err := <-answer:
			if err == nil {
				t.Fatalf("%s was answered", name)
			}
			return err
		case <-time.After(patience):
			t.Fatalf("%s was not woken", name)
			return nil
		}
	}
	stop()
	if err := woken("the statement with a context of its own", first); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	cancel()
	if err := woken("the statement with the transaction's context", second); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// Cancelled before COMMIT was sent, it has not happened.
	if err := woken("COMMIT", commit); !is(err, rcCancelled) && (!is(err, rcCommitUnknown) || o.unknown == nil) {
		t.Fatalf("COMMIT: %v", err)
	}
	for _, tx := range txs[:2] {
		if err := promptly(t, "a rollback", tx.Rollback); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.e.gate) != 0 {
		t.Fatalf("%d places are taken", len(d.e.gate))
	}
}
