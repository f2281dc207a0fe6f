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
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/config"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // to compare with
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"     // --visibility
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

SIGTERM and SIGINT end it when what is under way is done.

Options:
`

type options struct {
	file, namespace, visibility, metrics, logLevel, services string
	port, httpPort, shards                                   int
	dynamic                                                  dynamicValues
}

func parse() options {
	o := options{dynamic: dynamicValues{}}
	flag.StringVar(&o.file, "config", "", "a Temporal configuration `FILE` of your own, which replaces all of the embedded one")
	flag.IntVar(&o.port, "port", 7233, "port of the frontend on 127.0.0.1, 0 for any; the other services have ports beside it")
	flag.IntVar(&o.httpPort, "http-port", 0, "port of the frontend's HTTP API and of Nexus; by default 10 above --port")
	flag.IntVar(&o.shards, "shards", 4, "history shards; decided once for a cluster")
	flag.StringVar(&o.namespace, "namespace", "default", "register this namespace if it is not there (frontend); empty for none")
	flag.StringVar(&o.visibility, "visibility", "", "keep visibility in this SQLite `FILE`; without it, on the cluster")
	flag.StringVar(&o.metrics, "metrics", "", "serve libdsql's metrics, health and status page at `HOST:PORT`, or off; by default DSQL_METRICS_ADDRESS")
	flag.StringVar(&o.logLevel, "log-level", "warn", "error, warn, info or debug")
	flag.StringVar(&o.services, "services", strings.Join(temporal.DefaultServices, ","), "which services this process runs")
	flag.Var(o.dynamic, "dynamic-config-value", "`KEY=VALUE` of Temporal's dynamic configuration, the value as JSON; may be repeated")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	return o
}

func load(o options) (*config.Config, error) {
	if o.file != "" {
		return config.Load(config.WithConfigFile(o.file))
	}
	ports, err := choosePorts(o.port, o.httpPort)
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

// open opens the pool of the configuration's store and holds it for the life of the process, serves its pages,
// and refuses a cluster whose schema is older than what this server needs. Stores of Temporal's own are none of
// its business.
func open(cfg *config.Config, metrics string) (*dsql.Cluster, error) {
	store := cfg.Persistence.DataStores[cfg.Persistence.DefaultStore]
	if store.CustomDataStoreConfig == nil {
		return nil, nil
	}
	cluster, err := dsql.Open(dsql.SQLConfig(store.CustomDataStoreConfig.Options))
	if err != nil {
		return nil, err
	}
	url, err := cluster.Watch(metrics)
	if err == nil {
		err = cluster.Verify()
	}
	if err != nil {
		cluster.Close()
		return nil, err
	}
	if url != "" {
		fmt.Printf("libdsql's metrics, health and status are at %s\n", url)
	}
	return cluster, nil
}

// frontend is where this process's own frontend answers, by gRPC and by HTTP; the latter is empty if it does not.
func frontend(cfg *config.Config) (address, http string) {
	rpc := cfg.Services["frontend"].RPC
	host := rpc.BindOnIP
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if rpc.HTTPPort != 0 {
		http = net.JoinHostPort(host, strconv.Itoa(rpc.HTTPPort))
	}
	return net.JoinHostPort(host, strconv.Itoa(rpc.GRPCPort)), http
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

// interrupted passes a signal on to the server, and tells the cluster first.
func interrupted(cluster *dsql.Cluster) <-chan any {
	signals, passed := temporal.InterruptCh(), make(chan any, 1)
	go func() {
		signal := <-signals
		if cluster != nil {
			cluster.Ending()
		}
		passed <- signal
		close(passed)
	}()
	return passed
}

func run() error {
	o := parse()
	cfg, err := load(o)
	if err != nil {
		return err
	}
	dynamic, err := dynamicConfig(cfg, o)
	if err != nil {
		return err
	}
	defaults()
	cluster, err := open(cfg, o.metrics)
	if err != nil {
		return err
	}
	if cluster != nil {
		defer cluster.Close()
		fmt.Println("The store carries Temporal's limits: " + describeLimits())
	}
	services := strings.Split(o.services, ",")
	server, err := temporal.NewServer(
		temporal.ForServices(services),
		temporal.WithConfig(cfg),
		temporal.WithDynamicConfigClient(dynamic),
		temporal.WithCustomDataStoreFactory(dsql.DataStore),
		temporal.WithCustomVisibilityStoreFactory(dsql.VisibilityStores),
		temporal.InterruptOn(interrupted(cluster)),
	)
	if err != nil {
		return err
	}
	if o.namespace != "" && slices.Contains(services, "frontend") {
		address, http := frontend(cfg)
		go func() {
			if err := register(address, o.namespace); err != nil {
				fmt.Fprintf(os.Stderr, "temporal-dsql-server: namespace %s: %v\n", o.namespace, err)
				os.Exit(1)
			}
			if http != "" {
				http = ", HTTP at " + http
			}
			fmt.Printf("Temporal is at %s, namespace %s%s\n", address, o.namespace, http)
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
