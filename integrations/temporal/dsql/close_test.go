package dsql

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// How handles and the pool end. Each of these runs a hundred times, since what they look for are races.
const rounds = 100

// works fails unless a handle reaches the cluster.
func works(t *testing.T, d *db) {
	t.Helper()
	if _, err := d.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: -7}); err != sql.ErrNoRows {
		t.Fatalf("a handle that is open: %v", err)
	}
}

// refused fails unless every kind of use of a handle is refused.
func refused(t *testing.T, d *db) {
	t.Helper()
	ctx := context.Background()
	_, read := d.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: -7})
	_, write := d.UpdateShards(ctx, shard(-7, 1))
	_, begin := d.BeginTx(ctx)
	runs := 0
	run := rerunErr(ctx, d.e, "test", func(context.Context, struct{}) error { runs++; return nil }, struct{}{})
	_, version := d.ReadSchemaVersion("postgres")
	for name, err := range map[string]error{
		"a read": read, "a write": write, "a transaction": begin, "an operation": run, "the schema's version": version,
	} {
		if !errors.Is(err, errClosed) {
			t.Fatalf("%s after Close: %v", name, err)
		}
	}
	if runs != 0 {
		t.Fatal("an operation was run after Close")
	}
}

func closed(t *testing.T, d *db) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A handle that was closed is refused, whether others hold the pool or nobody does.
func TestUseAfterCloseIsAnError(t *testing.T) {
	for range rounds {
		first, second := open(t, 2), open(t, 2)
		works(t, first)
		closed(t, first)
		refused(t, first)
		works(t, second)
		closed(t, second)
		refused(t, second)
		refused(t, first)
	}
}

// However often one handle is closed, the pool stays as long as there is another.
func TestCloseCountsOnce(t *testing.T) {
	keeper := open(t, 2)
	defer closed(t, keeper)
	for range rounds {
		d := open(t, 2)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _ = d.Close() })
		}
		all.Wait()
		works(t, keeper)
		if again := open(t, 2); again.e.pool != keeper.e.pool {
			t.Fatal("there are two pools")
		} else {
			closed(t, again)
		}
		if refs := keeper.e.refs.Load(); refs != 1 {
			t.Fatalf("%d references for one handle", refs)
		}
	}
}

// A handle is closed, as the last, under those who use it: whatever is under way ends, and the rest is refused.
func TestCloseUnderUse(t *testing.T) {
	for range rounds {
		d := open(t, 2)
		p := d.e.pool
		tx := begin(t, d, context.Background())
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					_, err := d.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: -7})
					if err == errClosed {
						return
					}
					if err != sql.ErrNoRows {
						t.Errorf("until Close: %v", err)
						return
					}
				}
			})
		}
		works(t, d)
		closed(t, d)
		all.Wait()
		if _, err := tx.SelectFromShards(context.Background(), sqlplugin.ShardsFilter{ShardID: -7}); err != sql.ErrNoRows {
			t.Fatalf("in a transaction that began before Close: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.closed:
		case <-time.After(patience):
			t.Fatal("the pool was not closed")
		}
		refused(t, d)
	}
}

// A new pool waits for the end of the one before; goroutines that open and close never meet a closed one.
func TestReopen(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range rounds / 4 {
				d := open(t, 2)
				works(t, d)
				closed(t, d)
			}
		})
	}
	all.Wait()
	if left := acquireAll(); len(left) != 0 {
		t.Fatalf("%d pools are left", len(left))
	}
}

// As Temporal's server does while it starts: a factory's stores are made and closed, the factory is closed,
// twice, and another one comes. The process keeps its one pool.
func TestFactoriesShareThePool(t *testing.T) {
	keeper := open(t, 2)
	defer closed(t, keeper)
	for range rounds {
		factory := NewFactory(SQLConfig(nil), nil, "active", log.NewNoopLogger(), metrics.NoopMetricsHandler, serialization.NewSerializer())
		metadata, err := factory.NewClusterMetadataStore()
		if err != nil {
			t.Fatal(err)
		}
		shards, err := factory.NewShardStore()
		if err != nil {
			t.Fatal(err)
		}
		metadata.Close()
		shards.Close()
		if metadata, err = factory.NewClusterMetadataStore(); err != nil {
			t.Fatal(err)
		}
		metadata.Close()
		metadata.Close()
		factory.Close()
		factory.Close()
		_, err = shards.GetOrCreateShard(context.Background(), &persistence.InternalGetOrCreateShardRequest{ShardID: -7})
		if !errors.Is(err, errClosed) {
			t.Fatalf("a store of a closed factory: %v", err)
		}
		works(t, keeper)
		if refs := keeper.e.refs.Load(); refs != 1 {
			t.Fatalf("%d references for one handle", refs)
		}
	}
}
