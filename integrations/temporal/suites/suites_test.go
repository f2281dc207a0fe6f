// Package suites runs Temporal's own persistence suites on the plugin, against whatever cluster the
// environment names; 'make temporal-test' runs them on 'dsql local'.
//
// Not run: the suite of the SQL plugins' visibility table, for visibility here is a store and not a table of a
// SQL plugin, and the connection suite, which Temporal does not export.
package suites

import (
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/suite"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	persistencetests "go.temporal.io/server/common/persistence/persistence-tests"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqltests "go.temporal.io/server/common/persistence/sql/sqlplugin/tests"
	"go.temporal.io/server/common/persistence/tests"
	"go.temporal.io/server/common/resolver"

	"libdsql/integrations/temporal/dsql"
)

// fresh empties every table: each suite expects a database of its own.
func fresh(t *testing.T) {
	t.Helper()
	if os.Getenv("DSQL_ENDPOINT") == "" {
		t.Skip("no cluster: 'make temporal-test' brings one")
	}
	for {
		said, err := empty(t, "DELETE FROM %1$I;")
		if err == nil {
			return
		}
		// What an earlier test left in a table may be more than one transaction can delete.
		if !strings.Contains(said, "transaction row limit exceeded") {
			t.Fatalf("psql: %v: %s", err, said)
		}
		if said, err = empty(t, "DELETE FROM %1$I WHERE ctid IN (SELECT ctid FROM %1$I LIMIT 2500);"); err != nil {
			t.Fatalf("psql: %v: %s", err, said)
		}
	}
}

// empty runs the statement on every table, and gives what psql said.
func empty(t *testing.T, statement string) (string, error) {
	t.Helper()
	statements, err := exec.Command("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", `
		SELECT format('`+statement+`', tablename) FROM pg_tables WHERE schemaname = 'public'
		AND tablename NOT IN ('schema_version', 'schema_update_history', 'namespace_metadata', 'visibility_schema_version')
		UNION ALL SELECT 'UPDATE namespace_metadata SET notification_version = 1;'`).Output()
	if err != nil {
		return string(statements), err
	}
	said, err := exec.Command("psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", write(t, statements)).CombinedOutput()
	return string(said), err
}

func write(t *testing.T, text []byte) string {
	t.Helper()
	path := t.TempDir() + "/empty.sql"
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sqlConfig() *config.SQL { return dsql.SQLConfig(nil) }

// db is the bare plugin.
func db(t *testing.T) sqlplugin.DB {
	t.Helper()
	fresh(t)
	opened, err := persistencesql.NewSQLDB(sqlplugin.DbKindMain, sqlConfig(), resolver.NewNoopResolver(), log.NewTestLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// factory gives the stores as the server gets them, with re-runs.
func factory(t *testing.T) persistence.DataStoreFactory {
	t.Helper()
	fresh(t)
	f := dsql.NewFactory(sqlConfig(), resolver.NewNoopResolver(), "test", log.NewTestLogger(), metrics.NoopMetricsHandler, serialization.NewSerializer())
	t.Cleanup(f.Close)
	return f
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// The tables: sqlplugin/tests.
func TestTables(t *testing.T) {
	for name, make := range map[string]func(*testing.T, sqlplugin.DB) suite.TestingSuite{
		"Namespace":     func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewNamespaceSuite(t, d) },
		"QueueMessage":  func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewQueueMessageSuite(t, d) },
		"QueueMetadata": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewQueueMetadataSuite(t, d) },
		"MatchingTask":  func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewMatchingTaskSuite(t, d) },
		"MatchingTaskV2": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewMatchingTaskV2Suite(t, d)
		},
		"MatchingTaskQueue": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewMatchingTaskQueueSuite(t, d, sqlplugin.MatchingTaskVersion1)
		},
		"MatchingTaskQueueV2": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewMatchingTaskQueueSuite(t, d, sqlplugin.MatchingTaskVersion2)
		},
		"HistoryShard": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewHistoryShardSuite(t, d) },
		"HistoryNode":  func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewHistoryNodeSuite(t, d) },
		"HistoryTree":  func(t *testing.T, d sqlplugin.DB) suite.TestingSuite { return sqltests.NewHistoryTreeSuite(t, d) },
		"HistoryCurrentExecution": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryCurrentExecutionSuite(t, d, chasm.WorkflowArchetypeID)
		},
		"HistoryCurrentChasmExecution": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryCurrentExecutionSuite(t, d, math.MaxUint32)
		},
		"HistoryExecution": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionSuite(t, d)
		},
		"HistoryTransferTask": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryTransferTaskSuite(t, d)
		},
		"HistoryTimerTask": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryTimerTaskSuite(t, d)
		},
		"HistoryReplicationTask": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryReplicationTaskSuite(t, d)
		},
		"HistoryVisibilityTask": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryVisibilityTaskSuite(t, d)
		},
		"HistoryReplicationDLQTask": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryReplicationDLQTaskSuite(t, d)
		},
		"HistoryExecutionBuffer": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionBufferSuite(t, d)
		},
		"HistoryExecutionActivity": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionActivitySuite(t, d)
		},
		"HistoryExecutionChildWorkflow": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionChildWorkflowSuite(t, d)
		},
		"HistoryExecutionTimer": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionTimerSuite(t, d)
		},
		"HistoryExecutionChasm": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionChasmSuite(t, d)
		},
		"HistoryExecutionRequestCancel": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionRequestCancelSuite(t, d)
		},
		"HistoryExecutionSignal": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionSignalSuite(t, d)
		},
		"HistoryExecutionSignalRequest": func(t *testing.T, d sqlplugin.DB) suite.TestingSuite {
			return sqltests.NewHistoryExecutionSignalRequestSuite(t, d)
		},
	} {
		t.Run(name, func(t *testing.T) { suite.Run(t, make(t, db(t))) })
	}
	t.Run("QueueV2", func(t *testing.T) { sqltests.RunSQLQueueV2TestSuite(t, db(t)) })
}

// The stores: persistence/tests.
func TestStores(t *testing.T) {
	logger, serializer := log.NewTestLogger(), serialization.NewSerializer()
	t.Run("Shard", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewShardSuite(t, must[persistence.ShardStore](t)(f.NewShardStore()), serializer, logger))
	})
	t.Run("ExecutionMutableState", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewExecutionMutableStateSuite(t, must[persistence.ShardStore](t)(f.NewShardStore()),
			must[persistence.ExecutionStore](t)(f.NewExecutionStore()), serializer, logger))
	})
	t.Run("ExecutionMutableStateTask", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewExecutionMutableStateTaskSuite(t, must[persistence.ShardStore](t)(f.NewShardStore()),
			must[persistence.ExecutionStore](t)(f.NewExecutionStore()), serializer, logger))
	})
	t.Run("HistoryEvents", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewHistoryEventsSuite(t, must[persistence.ExecutionStore](t)(f.NewExecutionStore()), logger))
	})
	t.Run("TaskQueue", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewTaskQueueSuite(t, must[persistence.TaskStore](t)(f.NewTaskStore()), logger))
	})
	t.Run("FairTaskQueue", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewTaskQueueSuite(t, must[persistence.TaskStore](t)(f.NewFairTaskStore()), logger))
	})
	t.Run("TaskQueueTask", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewTaskQueueTaskSuite(t, must[persistence.TaskStore](t)(f.NewTaskStore()), logger))
	})
	t.Run("TaskQueueFairTask", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewTaskQueueFairTaskSuite(t, must[persistence.TaskStore](t)(f.NewFairTaskStore()), logger))
	})
	t.Run("TaskQueueUserData", func(t *testing.T) {
		f := factory(t)
		suite.Run(t, tests.NewTaskQueueUserDataSuite(t, must[persistence.TaskStore](t)(f.NewTaskStore()), logger))
	})
	t.Run("QueueV2", func(t *testing.T) {
		f := factory(t)
		tests.RunQueueV2TestSuite(t, must[persistence.QueueV2](t)(f.NewQueueV2()))
	})
	t.Run("HistoryTaskQueueManager", func(t *testing.T) {
		f := factory(t)
		tests.RunHistoryTaskQueueManagerTestSuite(t, must[persistence.QueueV2](t)(f.NewQueueV2()))
	})
	t.Run("NexusEndpoint", func(t *testing.T) {
		f := factory(t)
		s := unhurried{must[persistence.NexusEndpointStore](t)(f.NewNexusEndpointStore())}
		tests.RunNexusEndpointTestSuite(t, s, &atomic.Int64{})
	})
}

// unhurried has no deadlines: the suite gives five seconds to all that a test does, which TEMPORAL_DEBUG does not
// lengthen and a busy machine may not have.
type unhurried struct{ persistence.NexusEndpointStore }

func (s unhurried) CreateOrUpdateNexusEndpoint(ctx context.Context, r *persistence.InternalCreateOrUpdateNexusEndpointRequest) error {
	return s.NexusEndpointStore.CreateOrUpdateNexusEndpoint(context.WithoutCancel(ctx), r)
}

func (s unhurried) DeleteNexusEndpoint(ctx context.Context, r *persistence.DeleteNexusEndpointRequest) error {
	return s.NexusEndpointStore.DeleteNexusEndpoint(context.WithoutCancel(ctx), r)
}

func (s unhurried) GetNexusEndpoint(ctx context.Context, r *persistence.GetNexusEndpointRequest) (*persistence.InternalNexusEndpoint, error) {
	return s.NexusEndpointStore.GetNexusEndpoint(context.WithoutCancel(ctx), r)
}

func (s unhurried) ListNexusEndpoints(ctx context.Context, r *persistence.ListNexusEndpointsRequest) (*persistence.InternalListNexusEndpointsResponse, error) {
	return s.NexusEndpointStore.ListNexusEndpoints(context.WithoutCancel(ctx), r)
}

// cluster is a database that is there already: no suite may create or drop one.
type cluster struct{ t *testing.T }

func (c cluster) SetupTestDatabase()    { fresh(c.t) }
func (c cluster) TearDownTestDatabase() {}
func (c cluster) Config() config.Persistence {
	return config.Persistence{
		DefaultStore:     "dsql",
		VisibilityStore:  "visibility",
		NumHistoryShards: 4,
		DataStores: map[string]config.DataStore{
			"dsql":       {CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: "dsql"}},
			"visibility": {CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: "dsql", IndexName: "dsql_visibility"}},
		},
		TransactionSizeLimit: func() int { return 4 << 20 },
	}
}

func base(t *testing.T) *persistencetests.TestBase {
	t.Helper()
	b := persistencetests.NewTestBaseForCluster(cluster{t}, log.NewTestLogger())
	b.AbstractDataStoreFactory = dsql.DataStore
	b.Setup(nil)
	return b
}

// metadata chooses between two tests that the suite itself can only tell apart by Temporal's own way to
// create databases.
type metadata struct {
	persistencetests.MetadataPersistenceSuiteV2
}

func (m *metadata) TestRenameNamespaceCassandra() { m.T().Skip("Cassandra's behaviour") }

func (m *metadata) TestRenameNamespaceSQL() {
	own := m.DefaultTestCluster
	defer func() { m.DefaultTestCluster = own }()
	m.DefaultTestCluster = &persistencesql.TestCluster{}
	m.MetadataPersistenceSuiteV2.TestRenameNamespaceSQL()
}

// The managers: persistence-tests.
func TestManagers(t *testing.T) {
	t.Run("HistoryV2", func(t *testing.T) {
		suite.Run(t, &persistencetests.HistoryV2PersistenceSuite{TestBase: base(t)})
	})
	t.Run("Metadata", func(t *testing.T) {
		suite.Run(t, &metadata{persistencetests.MetadataPersistenceSuiteV2{TestBase: base(t)}})
	})
	t.Run("ClusterMetadata", func(t *testing.T) {
		suite.Run(t, &persistencetests.ClusterMetadataManagerSuite{TestBase: base(t)})
	})
	t.Run("Queue", func(t *testing.T) {
		suite.Run(t, &persistencetests.QueuePersistenceSuite{TestBase: base(t)})
	})
}

// Visibility: persistence/tests.
func TestVisibility(t *testing.T) {
	suite.Run(t, &tests.VisibilityPersistenceSuite{
		TestBase:                     persistencetests.NewTestBaseForCluster(cluster{t}, log.NewTestLogger()),
		CustomVisibilityStoreFactory: dsql.VisibilityStores,
	})
}
