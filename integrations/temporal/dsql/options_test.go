package dsql

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options map[string]any
		want    config.SQL
		ignored []string // how each begins
	}{
		{nil, config.SQL{}, nil},
		{
			map[string]any{"endpoint": "e", "user": "u", "database": "d", "maxConns": 500, "maxIdleConns": 500, "maxConnLifetime": "50m"},
			config.SQL{ConnectAddr: "e", User: "u", DatabaseName: "d", MaxConns: 500, MaxIdleConns: 500, MaxConnLifetime: 50 * time.Minute},
			nil,
		},
		{map[string]any{"maxConns": "40"}, config.SQL{MaxConns: 40}, nil}, // as templates write it
		{map[string]any{"maxConns": 0}, config.SQL{}, []string{"option maxConns: 0 is not"}},
		{map[string]any{"maxConns": 1.5}, config.SQL{}, []string{"option maxConns: 1.5 is not"}},
		{map[string]any{"maxConnLifetime": "long"}, config.SQL{}, []string{"option maxConnLifetime: long is not"}},
		{map[string]any{"maxconns": 5, "colour": "red"}, config.SQL{}, []string{"option colour is not known", "option maxconns is not known"}},
		{map[string]any{"maxConns": 50, "maxIdleConns": 5}, config.SQL{MaxConns: 50, MaxIdleConns: 5}, []string{"maxIdleConns is ignored"}},
		{map[string]any{"maxConnLifetime": "2h"}, config.SQL{MaxConnLifetime: 2 * time.Hour}, []string{"maxConnLifetime 2h0m0s is ignored"}},
	} {
		got, ignored := parseOptions(c.options)
		ignored = append(ignored, ignoredSQL(got)...)
		if got.ConnectAddr != c.want.ConnectAddr || got.User != c.want.User || got.DatabaseName != c.want.DatabaseName ||
			got.MaxConns != c.want.MaxConns || got.MaxIdleConns != c.want.MaxIdleConns || got.MaxConnLifetime != c.want.MaxConnLifetime {
			t.Errorf("%v: %+v", c.options, got)
		}
		if !slices.EqualFunc(ignored, c.ignored, strings.HasPrefix) {
			t.Errorf("%v: it says %q", c.options, ignored)
		}
	}
	if ignored := ignoredSQL(&config.SQL{Password: "p", ConnectAttributes: map[string]string{"a": "b"}}); len(ignored) != 2 {
		t.Errorf("password and attributes: %q", ignored)
	}
}

// maxConns decides all sizes, whatever the environment's defaults are.
func TestMaxConnsSizesThePool(t *testing.T) {
	t.Setenv("DSQL_POOL_MAX_OPEN", "")
	for _, size := range []int{3, 130} { // less and more than the default
		d := open(t, size)
		if o := d.e.c.options; int(o.sizing.max_open) != size || int(o.sizing.target_ready) != size || int(o.sizing.low_watermark) != size || int(o.standard.warmup_target) != size {
			t.Errorf("%d: max %d, target %d, watermark %d, warm-up %d", size, o.sizing.max_open, o.sizing.target_ready, o.sizing.low_watermark, o.standard.warmup_target)
		}
		if cap(d.e.gate) != size {
			t.Errorf("%d: %d calls at once", size, cap(d.e.gate))
		}
		closed(t, d)
	}
}

// fault makes the endpoint of the test misbehave.
func fault(t *testing.T, faults ...string) {
	t.Helper()
	if os.Getenv("dsql") == "" || os.Getenv("DSQL_LOCAL_CONTROL") == "" {
		t.Skip("no endpoint that can misbehave: 'make temporal-test' brings one")
	}
	if out, err := exec.Command(os.Getenv("dsql"), append([]string{"local", "fault"}, faults...)...).CombinedOutput(); err != nil {
		t.Fatalf("dsql local fault: %v: %s", err, out)
	}
}

// Once the process is told to end, nobody waits for a cluster that cannot be reached, in C or for a place there, and
// everybody still uses one that can.
func TestNobodyWaitsAtTheEnd(t *testing.T) {
	t.Setenv("DSQL_RESERVOIR_EMPTY_WAIT", "1m")
	reached := open(t, 2)
	(&Cluster{db: reached}).Ending()
	works(t, reached)
	closed(t, reached)

	unreached := &Cluster{db: open(t, 2)}
	defer unreached.Close()
	fault(t, "refuse=100%", "drop=100%")
	t.Cleanup(func() { fault(t, "refuse=0%") })
	eventually(t, "no connection is left", func() bool { return unreached.db.e.connections() == 0 })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const callers, places = 8, 2
	answers := make(chan error, callers)
	for range callers {
		go func() {
			_, err := unreached.db.SelectFromShards(ctx, sqlplugin.ShardsFilter{ShardID: -7})
			answers <- err
		}()
	}
	eventually(t, "every place is taken", func() bool { return len(unreached.db.e.gate) == places })
	unreached.Ending()
	unreached.Ending()
	woken := 0
	for n := range callers {
		select {
		case err := <-answers:
			if is(err, rcCancelled) {
				woken++
			} else if err != errEnding {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatalf("%d of %d callers gave up", n, callers)
		}
	}
	if woken != places {
		t.Fatalf("%d calls were woken in C", woken)
	}
	if _, err := unreached.db.BeginTx(ctx); err != errEnding {
		t.Fatalf("a transaction afterwards: %v", err)
	}
}
