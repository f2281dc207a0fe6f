package dsql

import (
	"errors"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/server/common/persistence"
)

// isStale says whether an error is that of somebody who owns something no longer.
func isStale(err error) bool {
	var lost *persistence.ShardOwnershipLostError
	var failed *persistence.ConditionFailedError // of a task queue
	return errors.As(err, &lost) || errors.As(err, &failed)
}

// Two owners of one shard, or of one task queue. One runs every operation that carries a range id; the other takes
// over at a random moment in between. Whatever the first one's scripts commit must be there by the time the second
// one is the owner: nothing may appear, change or go away afterwards. STALE_ROUNDS says how often (152).
func TestStaleOwnerNeverCommits(t *testing.T) {
	t.Run("key share", staleOwner)
	t.Run("for update", func(t *testing.T) {
		// A cluster that refuses FOR KEY SHARE, so that whoever is let through holds FOR UPDATE.
		fault(t, "no-key-share=100%")
		t.Cleanup(func() { fault(t, "no-key-share=0") })
		staleOwner(t)
	})
}

func staleOwner(t *testing.T) {
	o := newWorld(t)
	owner := storesOf(t, newTestFactory(t, SQLConfig(map[string]any{"maxConns": 4})))
	all := o.owned(owner)
	rounds := 152
	if n, err := strconv.Atoi(os.Getenv("STALE_ROUNDS")); err == nil {
		rounds = n
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	passed, refused := 0, 0
	// Until each of the two has come first once, on a machine where one of them is always late.
	for round := 0; round < rounds || (round < 20*rounds && (passed == 0 || refused == 0)); round++ {
		op := all[round%len(all)]
		run, takeOver, rows := op.prepare()
		ended := make(chan error, 1)
		first, second := time.Duration(random.Intn(1500)), time.Duration(random.Intn(3000))
		go func() {
			time.Sleep(first * time.Microsecond)
			ended <- run()
		}()
		time.Sleep(second * time.Microsecond)
		if err := takeOver(); err != nil {
			t.Fatalf("round %d, %s: taking over: %v", round, op.name, err)
		}
		there := rows()
		err := <-ended
		switch {
		case err == nil:
			passed++
		case isStale(err):
			refused++
		default:
			t.Fatalf("round %d, %s: %v", round, op.name, err)
		}
		if now := rows(); now != there {
			t.Fatalf("round %d, %s: after it had another owner the stale one made %q of %q", round, op.name, now, there)
		}
		again := run() // of tasks that are there Temporal's store finds that out first
		if again == nil || (err != nil && !isStale(again)) {
			t.Fatalf("round %d, %s: once more, with the old range: %v", round, op.name, again)
		}
		if now := rows(); now != there {
			t.Fatalf("round %d, %s: refused, it made %q of %q", round, op.name, now, there)
		}
	}
	t.Logf("%d operations: %d committed before another was the owner, %d refused", len(all), passed, refused)
	if passed == 0 || refused == 0 {
		t.Errorf("%d passed, %d were refused: the two never met", passed, refused)
	}
}
