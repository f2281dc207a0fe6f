// temporal-dsql-server is the stock Temporal server with its data on Aurora DSQL.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // to compare with
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"     // visibility of the embedded configuration
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"gopkg.in/yaml.v3"

	"libdsql/integrations/temporal/dsql"
)

//go:embed embedded.yaml
var embedded string

const usage = `Usage: temporal-dsql-server [OPTION...]

The stock Temporal server with its data on Aurora DSQL. The cluster is the one
of the environment (DSQL_ENDPOINT and the rest of 'dsql help config'); its
schema is made by 'dsql schema apply' beforehand.

    dsql local exec -- sh -c 'dsql schema apply && exec temporal-dsql-server'

Options:
`

type options struct {
	file, namespace, visibility, metrics, logLevel, services string
	port, shards                                             int
}

func parse() options {
	var o options
	flag.StringVar(&o.file, "config", "", "a Temporal configuration `FILE` of your own, which replaces all of the embedded one")
	flag.IntVar(&o.port, "port", 7233, "port of the frontend on 127.0.0.1; 0 for any; the others are any")
	flag.IntVar(&o.shards, "shards", 4, "history shards; decided once for a cluster")
	flag.StringVar(&o.namespace, "namespace", "default", "register this namespace if it is not there (frontend); empty for none")
	flag.StringVar(&o.visibility, "visibility", "", "keep visibility in this SQLite `FILE`; without it, in memory")
	flag.StringVar(&o.metrics, "metrics", "", "serve libdsql's metrics at http://`HOST:PORT`/metrics")
	flag.StringVar(&o.logLevel, "log-level", "warn", "error, warn, info or debug")
	flag.StringVar(&o.services, "services", strings.Join(temporal.DefaultServices, ","), "which services this process runs")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	return o
}

// freePorts are some that nobody listens on at the moment. The first is the given one, unless that is 0.
func freePorts(n, first int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }() // not before all are found, so that none comes twice
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	if first != 0 {
		ports[0] = first
	}
	return ports, nil
}

func load(o options) (*config.Config, error) {
	if o.file != "" {
		return config.Load(config.WithConfigFile(o.file))
	}
	ports, err := freePorts(8, o.port)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = template.Must(template.New("").Parse(embedded)).Execute(&text, map[string]any{
		"Ports": ports, "Shards": o.shards, "Visibility": o.visibility, "LogLevel": o.logLevel,
	})
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{}
	return cfg, yaml.Unmarshal(text.Bytes(), cfg)
}

// defaults are what suits a server of Temporal better than what suits every program; the environment counts
// more. Temporal calls at any time and from everywhere: connections that were lost must come back at once,
// and a caller rather waits for one than fails.
func defaults() {
	for name, value := range map[string]string{"DSQL_RESERVOIR_ENABLED": "true", "DSQL_RESERVOIR_EMPTY_WAIT": "2s"} {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value)
		}
	}
}

// open refuses a cluster whose schema is older than what this server needs. Stores of Temporal's own are
// none of its business.
func open(cfg *config.Config) (func(), error) {
	store := cfg.Persistence.DataStores[cfg.Persistence.DefaultStore]
	if store.CustomDataStoreConfig == nil {
		return func() {}, nil
	}
	return dsql.Open(dsql.SQLConfig(store.CustomDataStoreConfig.Options))
}

// settings are what the limits of Aurora DSQL ask for; a dynamic configuration of the user's replaces
// them.
func settings() dynamicconfig.Client {
	return dynamicconfig.StaticClient{
		dynamicconfig.MaxIDLengthLimit.Key():     255,
		dynamicconfig.TransactionSizeLimit.Key(): 4_000_000,
	}
}

// frontend is where this process's own frontend answers.
func frontend(cfg *config.Config) string {
	rpc := cfg.Services["frontend"].RPC
	host := rpc.BindOnIP
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(rpc.GRPCPort))
}

// register waits for the frontend and registers a namespace.
func register(address, name string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := workflowservice.NewWorkflowServiceClient(conn)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err = client.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if err == nil || errors.As(serviceerror.FromStatus(status.Convert(err)), &exists) {
			// It is usable once every service has heard of it.
			_, err = client.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
		}
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func serveMetrics(address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(dsql.Metrics()))
	})
	if err := http.ListenAndServe(address, mux); err != nil {
		fmt.Fprintf(os.Stderr, "temporal-dsql-server: metrics: %v\n", err)
	}
}

func run() error {
	o := parse()
	cfg, err := load(o)
	if err != nil {
		return err
	}
	defaults()
	done, err := open(cfg)
	if err != nil {
		return err
	}
	defer done()
	services := strings.Split(o.services, ",")
	with := []temporal.ServerOption{
		temporal.ForServices(services),
		temporal.WithConfig(cfg),
		temporal.WithCustomDataStoreFactory(dsql.DataStore),
		temporal.InterruptOn(temporal.InterruptCh()),
	}
	if cfg.DynamicConfigClient == nil {
		with = append(with, temporal.WithDynamicConfigClient(settings()))
	}
	server, err := temporal.NewServer(with...)
	if err != nil {
		return err
	}
	if o.metrics != "" {
		go serveMetrics(o.metrics)
	}
	if o.namespace != "" && slices.Contains(services, "frontend") {
		address := frontend(cfg)
		go func() {
			if err := register(address, o.namespace); err != nil {
				fmt.Fprintf(os.Stderr, "temporal-dsql-server: namespace %s: %v\n", o.namespace, err)
				os.Exit(1)
			}
			fmt.Printf("Temporal is at %s, namespace %s\n", address, o.namespace)
		}()
	}
	return server.Start()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "temporal-dsql-server: %v\n", err)
		os.Exit(1)
	}
}
