package dsql

import (
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute"
)

// VisibilityStores gives a Temporal server its visibility. In the configuration, with the options of DataStore:
//
//	persistence:
//	  visibilityStore: visibility
//	  datastores:
//	    visibility:
//	      customDatastore:
//	        name: dsql
//	        indexName: dsql_visibility
var VisibilityStores visibility.VisibilityStoreFactory = visibilityFactory{}

type visibilityFactory struct{}

func (visibilityFactory) NewVisibilityStore(cfg config.CustomDatastoreConfig, attributes searchattribute.Provider, mappers searchattribute.MapperProvider,
	_ namespace.Registry, archetypes *chasm.Registry, _ resolver.ServiceResolver, logger log.Logger, handler metrics.Handler) (store.VisibilityStore, error) {
	sqlConfig, ignored := parseOptions(cfg.Options)
	sayIgnored(logger, ignored)
	return NewVisibilityStore(sqlConfig, cfg.IndexName, attributes, mappers, archetypes, logger, handler)
}
