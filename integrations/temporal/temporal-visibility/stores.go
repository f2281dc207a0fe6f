package main

import (
	"fmt"
	"strings"

	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/auth"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/serialization"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // one of the stores
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"     // another one
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/persistence/visibility/store/sql"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute"

	"libdsql/integrations/temporal/dsql"
)

// A tried store, and what is known of it.
type tried struct {
	store.VisibilityStore
	name string
	// A run that was deleted stays so, whatever is recorded later: Temporal's own stores bring it back.
	staysDeleted bool
}

// library has the component whose executions are listed through the CHASM calls.
type library struct{ chasm.UnimplementedLibrary }

func (library) Name() string { return "visibility" }

func (library) Components() []*chasm.RegistrableComponent {
	return []*chasm.RegistrableComponent{chasm.NewRegistrableComponent[*chasm.MockComponent]("thing",
		chasm.WithBusinessIDAlias("ThingId"),
		chasm.WithSearchAttributes(
			chasm.NewSearchAttributeBool("ThingBool", chasm.SearchAttributeFieldBool01),
			chasm.NewSearchAttributeDateTime("ThingTime", chasm.SearchAttributeFieldDateTime01),
			chasm.NewSearchAttributeInt("ThingInt", chasm.SearchAttributeFieldInt01),
			chasm.NewSearchAttributeDouble("ThingDouble", chasm.SearchAttributeFieldDouble01),
			chasm.NewSearchAttributeKeyword("ThingKeyword", chasm.SearchAttributeFieldKeyword01),
			chasm.NewSearchAttributeKeyword("ThingKind", chasm.SearchAttributeFieldLowCardinalityKeyword01),
			chasm.NewSearchAttributeKeywordList("ThingList", chasm.SearchAttributeFieldKeywordList01),
		))}
}

// registry has the library, and archetype is its component's number.
var registry, archetype = func() (*chasm.Registry, uint32) {
	r := chasm.NewRegistry(log.NewNoopLogger())
	if err := r.Register(library{}); err != nil {
		panic(err)
	}
	id, ok := r.ComponentIDByFqn("visibility.thing")
	if !ok {
		panic("the component is not there")
	}
	return r, id
}()

// unmapped gives each search attribute its own name. Temporal 1.31 has no such mapper, and needs one.
type unmapped struct{}

func (unmapped) GetAlias(field, _ string) (string, error)     { return field, nil }
func (unmapped) GetFieldName(alias, _ string) (string, error) { return alias, nil }

func openStore(name string) (*tried, error) {
	provider, mappers := searchattribute.NewTestProvider(), searchattribute.NewTestMapperProvider(unmapped{})
	stock := func(cfg config.SQL) (*tried, error) {
		opened, err := sql.NewSQLVisibilityStore(cfg, resolver.NewNoopResolver(), provider, mappers, registry,
			dynamicconfig.GetBoolPropertyFn(true), log.NewNoopLogger(), metrics.NoopMetricsHandler, serialization.NewSerializer())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &tried{VisibilityStore: opened, name: name}, nil
	}
	switch {
	case name == "dsql":
		opened, err := dsql.VisibilityStores.NewVisibilityStore(config.CustomDatastoreConfig{Name: "dsql", IndexName: "dsql_visibility"}, provider,
			mappers, nil, registry, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &tried{VisibilityStore: opened, name: name, staysDeleted: true}, nil
	case name == "sqlite" || strings.HasPrefix(name, "sqlite:"): // of one name there is one in a process
		return stock(config.SQL{
			PluginName: "sqlite", DatabaseName: name, ConnectAddr: "localhost", ConnectProtocol: "tcp",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "private"}, MaxConns: 1, MaxIdleConns: 1,
		})
	case strings.HasPrefix(name, "tls:"):
		port, certificate, _ := strings.Cut(strings.TrimPrefix(name, "tls:"), ":")
		return stock(config.SQL{
			PluginName: "postgres12_pgx", DatabaseName: "visibility", ConnectAddr: "127.0.0.1:" + port, ConnectProtocol: "tcp", User: "stock",
			MaxConns: 20, MaxIdleConns: 20, TLS: &auth.TLS{Enabled: true, CaFile: certificate},
		})
	case strings.HasPrefix(name, "/"):
		return stock(config.SQL{
			PluginName: "postgres12_pgx", DatabaseName: "visibility", ConnectAddr: "127.0.0.1:5432", ConnectProtocol: "tcp",
			ConnectAttributes: map[string]string{"host": name}, User: "stock", MaxConns: 20, MaxIdleConns: 20,
		})
	}
	return nil, fmt.Errorf("%s: a store is dsql, sqlite, tls:PORT:CERTIFICATE or the directory of a socket", name)
}
