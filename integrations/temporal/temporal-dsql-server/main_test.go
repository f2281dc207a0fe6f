package main

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"

	"libdsql/integrations/temporal/dsql"
)

// base is a port that is free together with its neighbours, for the moment.
func base(t *testing.T) int {
	t.Helper()
	for port := 20233; port < 30000; port += 501 {
		if got, err := choosePorts(port, 0); err == nil && got == wanted(port) {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func wanted(port int) portSet {
	return portSet{
		Frontend: port, FrontendMembership: port - 300, HTTP: port + 10, History: port + 1, HistoryMembership: port - 299,
		Matching: port + 2, MatchingMembership: port - 298, Worker: port + 6, WorkerMembership: port - 294,
	}
}

func all(p portSet) map[int]bool {
	ports := map[int]bool{}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		ports[int(v.Field(i).Int())] = true
	}
	return ports
}

func TestPorts(t *testing.T) {
	port := base(t)
	taken, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	got, err := choosePorts(port, 0)
	if err != nil || got.History == port+1 || got.Matching != port+2 || len(all(got)) != 9 {
		t.Errorf("history's port is taken: %+v, %v", got, err)
	}
	if got, err = choosePorts(port, 8080); err != nil || got.HTTP != 8080 {
		t.Errorf("an HTTP port: %+v, %v", got, err)
	}
	if got, err = choosePorts(0, 0); err != nil || len(all(got)) != 9 || all(got)[0] {
		t.Errorf("any port: %+v, %v", got, err)
	}
}

func TestDynamicValues(t *testing.T) {
	given := dynamicValues{}
	for _, text := range []string{
		`limit.maxIDLength=20`, `a.bool=true`, `a.float=0.5`, `a.text="t=x"`, `a.list=[1, 2]`, `a.map={"k": "v"}`, `a.duration=10s`,
	} {
		if err := given.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{``, `x`, `=1`, `a={`} {
		if given.Set(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
	client, err := dynamicConfig(&config.Config{}, options{dynamic: given})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"limit.maxIDLength": 20, "a.bool": true, "a.float": 0.5, "a.text": "t=x",
		"a.list": []any{1, 2}, "a.map": map[string]any{"k": "v"}, "a.duration": "10s", "activity.enableStandalone": true,
		"history.TaskDLQErrorPattern": dsql.Refused,
	} {
		values := client.GetValue(dynamicconfig.MakeKey(key))
		if len(values) != 1 || !reflect.DeepEqual(values[0].Value, want) {
			t.Errorf("%s: %v", key, values)
		}
	}
	if client, err = dynamicConfig(&config.Config{}, options{file: "f"}); err != nil || len(client.GetValue(dynamicconfig.MakeKey("activity.enableStandalone"))) != 0 {
		t.Errorf("with a configuration file: %v", err)
	}
	own := &config.Config{DynamicConfigClient: &dynamicconfig.FileBasedClientConfig{PollInterval: time.Minute}}
	if _, err = dynamicConfig(own, options{}); err == nil {
		t.Error("a dynamic configuration that is not there is taken")
	}
	own.DynamicConfigClient.Filepath = filepath.Join(t.TempDir(), "dynamic.yaml")
	if err = os.WriteFile(own.DynamicConfigClient.Filepath, []byte("limit.maxIDLength:\n- value: 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if client, err = dynamicConfig(own, options{}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"limit.maxIDLength": 30, "history.TaskDLQErrorPattern": dsql.Refused} {
		if values := client.GetValue(dynamicconfig.MakeKey(key)); len(values) != 1 || values[0].Value != want {
			t.Errorf("%s, with a file: %v", key, values)
		}
	}
	if _, err = dynamicConfig(own, options{dynamic: given}); err == nil {
		t.Error("values that nobody would read are taken")
	}
}

// Visibility is on the cluster unless somebody says otherwise, and may be in two places.
func TestVisibilityStores(t *testing.T) {
	const file = "../../../deploy/temporal/temporal.yaml"
	kind := func(store config.DataStore) string {
		switch {
		case store.CustomDataStoreConfig != nil:
			return "dsql " + store.CustomDataStoreConfig.IndexName
		case store.Elasticsearch != nil:
			return "opensearch " + store.Elasticsearch.URL.Host
		case store.SQL != nil:
			return store.SQL.PluginName
		default:
			return ""
		}
	}
	for _, c := range []struct{ file, visibility, host, first, second string }{
		{first: "dsql dsql_visibility"},
		{visibility: "v.db", first: "sqlite"},
		{file: file, first: "dsql dsql_visibility"},
		{file: file, host: "h:443", first: "opensearch h:443"},
		{file: file, host: "h:443", visibility: "dsql", first: "dsql dsql_visibility"},
		{file: file, host: "h:443", visibility: "opensearch+dsql", first: "opensearch h:443", second: "dsql dsql_visibility"},
		{file: file, host: "h:443", visibility: "dsql+opensearch", first: "dsql dsql_visibility", second: "opensearch h:443"},
	} {
		o := options{file: c.file, shards: 4, logLevel: "error"}
		t.Setenv("TEMPORAL_OPENSEARCH_HOST", c.host)
		if c.file == "" {
			o.visibility = c.visibility
		} else {
			t.Setenv("TEMPORAL_VISIBILITY", c.visibility)
		}
		cfg, err := load(o)
		if err == nil {
			err = cfg.Persistence.Validate()
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if first, second := kind(cfg.Persistence.GetVisibilityStoreConfig()), kind(cfg.Persistence.GetSecondaryVisibilityStoreConfig()); first != c.first || second != c.second {
			t.Errorf("%+v: visibility is in %q and %q", c, first, second)
		}
	}
}

// The keys are those of this version of Temporal: others would be ignored without a word.
func TestKeysAreKnown(t *testing.T) {
	client, err := dynamicConfig(&config.Config{}, options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []dynamicconfig.Key{
		dynamicconfig.EnableChasm.Key(),
	} {
		if len(client.GetValue(key)) != 1 {
			t.Errorf("%v is not set", key)
		}
	}
}
