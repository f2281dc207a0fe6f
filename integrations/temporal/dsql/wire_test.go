package dsql

import (
	"net"
	"os"
	"sync/atomic"
	"testing"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/resolver"
)

// A wire passes connections on to the cluster and counts round trips: how often a client spoke after it had
// heard something. It sees bytes, not what libdsql says of itself.
type wire struct {
	listener net.Listener
	trips    atomic.Int64
}

func (w *wire) pass(client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var heard atomic.Bool
	heard.Store(true)
	go func() {
		defer func() { _ = client.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			heard.Store(true)
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if heard.Swap(false) {
			w.trips.Add(1)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// openCounted gives stores on one connection through a wire.
func openCounted(t *testing.T) (*factory, *wire) {
	t.Helper()
	endpoint := os.Getenv("DSQL_ENDPOINT")
	if endpoint == "" {
		t.Skip("no cluster: 'make temporal-test' brings one")
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Skip("the endpoint has no port: its connections can't be passed on")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w := &wire{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.pass(client, net.JoinHostPort("127.0.0.1", port))
		}
	}()
	_, passed, _ := net.SplitHostPort(listener.Addr().String())
	f := newTestFactory(t, SQLConfig(map[string]any{"endpoint": net.JoinHostPort(host, passed), "maxConns": 1}))
	return f, w
}

func newTestFactory(t *testing.T, cfg *config.SQL) *factory {
	t.Helper()
	f := NewFactory(cfg, resolver.NewNoopResolver(), "test", log.NewTestLogger(), metrics.NoopMetricsHandler, serialization.NewSerializer())
	t.Cleanup(f.Close)
	return f.(*factory)
}

// during counts the round trips of an operation.
func (w *wire) during(run func()) int64 {
	before := w.trips.Load()
	run()
	return w.trips.Load() - before
}
