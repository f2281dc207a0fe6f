package dsql

import (
	"fmt"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/client"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
)

// DataStore is the custom data store of a Temporal server: Temporal's own SQL stores on the plugin,
// and around them the re-runs that they do not have. In the configuration:
//
//	persistence:
//	  defaultStore: dsql
//	  datastores:
//	    dsql:
//	      customDatastore:
//	        name: dsql
//	        options: {}   # endpoint, user, database, maxConns, maxConnLifetime; what is missing: the environment
var DataStore client.AbstractDataStoreFactory = abstractFactory{}

type abstractFactory struct{}

// Cluster is the process's pool, held open, for a server's main.
type Cluster struct {
	db    *db
	pages *pages
}

// Open opens the pool. It stays until the cluster and the last store are closed.
func Open(cfg *config.SQL) (*Cluster, error) {
	opened, err := plugin{}.CreateDB(sqlplugin.DbKindMain, cfg, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	return &Cluster{db: opened.(*db)}, nil
}

// Verify refuses a cluster whose schema is older than what the server needs.
func (c *Cluster) Verify() error { return c.db.VerifyVersion() }

// Ending tells the pool that the process was told to end: from now on calls give up at once if there is no
// connection to the cluster, and soon if nobody there answers, in place of waiting.
func (c *Cluster) Ending() { c.db.e.endLife() }

// Close ends the pages and gives the pool back.
func (c *Cluster) Close() {
	c.pages.stop()
	_ = c.db.Close()
}

func (abstractFactory) NewFactory(cfg config.CustomDatastoreConfig, r resolver.ServiceResolver, cluster string, logger log.Logger, handler metrics.Handler, serializer serialization.Serializer) persistence.DataStoreFactory {
	sqlConfig, ignored := parseOptions(cfg.Options)
	sayIgnored(logger, ignored)
	return NewFactory(sqlConfig, r, cluster, logger, handler, serializer)
}

// NewFactory gives the stores. The engine is the process's: see openEngine.
func NewFactory(cfg *config.SQL, r resolver.ServiceResolver, cluster string, logger log.Logger, handler metrics.Handler, serializer serialization.Serializer) persistence.DataStoreFactory {
	opened, err := plugin{}.CreateDB(sqlplugin.DbKindMain, cfg, r, logger, handler)
	if err != nil {
		logger.Fatal("dsql: no connection to the cluster", tag.Error(err))
	}
	if err := opened.(*db).VerifyVersion(); err != nil {
		logger.Fatal("dsql: the server cannot use this cluster", tag.Error(err))
	}
	return &factory{
		Factory: persistencesql.NewFactory(*cfg, r, cluster, logger, handler, serializer),
		db:      opened.(*db),
	}
}

type factory struct {
	*persistencesql.Factory
	db *db
}

func (f *factory) Close() {
	f.Factory.Close()
	_ = f.db.Close()
}

func wrapped[S any, W any](store S, err error, wrap func(S) W) (W, error) {
	if err != nil {
		var none W
		return none, fmt.Errorf("dsql: %w", err)
	}
	return wrap(store), nil
}

func (f *factory) NewTaskStore() (persistence.TaskStore, error) {
	s, err := f.Factory.NewTaskStore()
	return wrapped(s, err, func(s persistence.TaskStore) persistence.TaskStore { return &taskStore{s, f.db.e} })
}

func (f *factory) NewFairTaskStore() (persistence.TaskStore, error) {
	s, err := f.Factory.NewFairTaskStore()
	return wrapped(s, err, func(s persistence.TaskStore) persistence.TaskStore { return &taskStore{s, f.db.e} })
}

func (f *factory) NewShardStore() (persistence.ShardStore, error) {
	s, err := f.Factory.NewShardStore()
	return wrapped(s, err, func(s persistence.ShardStore) persistence.ShardStore { return &shardStore{s, f.db.e} })
}

func (f *factory) NewMetadataStore() (persistence.MetadataStore, error) {
	s, err := f.Factory.NewMetadataStore()
	return wrapped(s, err, func(s persistence.MetadataStore) persistence.MetadataStore { return &metadataStore{s, f.db.e} })
}

func (f *factory) NewClusterMetadataStore() (persistence.ClusterMetadataStore, error) {
	s, err := f.Factory.NewClusterMetadataStore()
	return wrapped(s, err, func(s persistence.ClusterMetadataStore) persistence.ClusterMetadataStore {
		return &clusterMetadataStore{s, f.db.e}
	})
}

func (f *factory) NewExecutionStore() (persistence.ExecutionStore, error) {
	s, err := f.Factory.NewExecutionStore()
	return wrapped(s, err, func(s persistence.ExecutionStore) persistence.ExecutionStore { return &executionStore{s, f.db.e} })
}

func (f *factory) NewQueue(kind persistence.QueueType) (persistence.Queue, error) {
	s, err := f.Factory.NewQueue(kind)
	return wrapped(s, err, func(s persistence.Queue) persistence.Queue { return &queue{s, f.db.e} })
}

func (f *factory) NewQueueV2() (persistence.QueueV2, error) {
	s, err := f.Factory.NewQueueV2()
	return wrapped(s, err, func(s persistence.QueueV2) persistence.QueueV2 { return &queueV2{s, f.db.e} })
}

func (f *factory) NewNexusEndpointStore() (persistence.NexusEndpointStore, error) {
	s, err := f.Factory.NewNexusEndpointStore()
	return wrapped(s, err, func(s persistence.NexusEndpointStore) persistence.NexusEndpointStore {
		return &nexusEndpointStore{s, f.db.e}
	})
}
