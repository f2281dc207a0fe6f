//go:build libdsql_functional

// Package testcore: this file joins Temporal's package of that name, a copy of which 'make temporal-functional' takes
// from the module cache. It gives each cluster of Temporal's functional tests a 'dsql local' of its own, as the custom
// data store that the server has in production. Visibility stays in Temporal's SQLite. With FUNCTIONAL_STORE=sqlite
// everything is as Temporal has it.
package testcore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	persistencetests "go.temporal.io/server/common/persistence/persistence-tests"
	persistencesql "go.temporal.io/server/common/persistence/sql"

	"libdsql/integrations/temporal/dsql"
)

func functionalOnDSQL() bool { return os.Getenv("FUNCTIONAL_STORE") != "sqlite" }

// functionalTestBaseFactory takes the place of Temporal's own in the copy.
func functionalTestBaseFactory() persistenceTestBaseFactory {
	if functionalOnDSQL() {
		return dsqlTestBaseFactory{}
	}
	return &defaultPersistenceTestBaseFactory{}
}

type dsqlTestBaseFactory struct{}

func (dsqlTestBaseFactory) NewTestBase(options *persistencetests.TestBaseOptions) *persistencetests.TestBase {
	defaults := GetPersistenceTestDefaults()
	options.ApplyDefaults(&defaults)
	logger := options.Logger
	if logger == nil {
		logger = log.NewTestLogger()
	}
	visibility := persistencesql.NewTestCluster(options.SQLDBPluginName, options.DBName, options.DBUsername, options.DBPassword,
		options.DBHost, options.DBPort, options.ConnectAttributes, options.SchemaDir, nil, logger)
	base := persistencetests.NewTestBaseForCluster(&dsqlCluster{TestCluster: visibility, faults: options.FaultInjection}, logger)
	base.AbstractDataStoreFactory = dsql.DataStore
	return base
}

// dsqlCluster is the database of one test cluster: visibility as Temporal has it, and an endpoint for the rest.
type dsqlCluster struct {
	*persistencesql.TestCluster
	faults   *config.FaultInjection
	local    *exec.Cmd
	folder   string
	endpoint string
}

func (c *dsqlCluster) Config() config.Persistence {
	cfg := c.TestCluster.Config()
	cfg.DefaultStore = "dsql"
	cfg.DataStores["dsql"] = config.DataStore{
		FaultInjection: c.faults,
		CustomDataStoreConfig: &config.CustomDatastoreConfig{
			Name: "dsql", Options: map[string]any{"endpoint": c.endpoint, "maxConns": 30},
		},
	}
	return cfg
}

// SetupTestDatabase starts an endpoint on a copy of FUNCTIONAL_TEMPLATE, a folder of one that has ended: keys,
// certificates and schema are the same for all, and the environment has them.
func (c *dsqlCluster) SetupTestDatabase() {
	c.TestCluster.SetupTestDatabase()
	if err := c.start(); err != nil {
		c.stop()
		panic(fmt.Sprintf("dsql local: %v", err))
	}
}

func (c *dsqlCluster) TearDownTestDatabase() {
	c.stop()
	c.TestCluster.TearDownTestDatabase()
}

func (c *dsqlCluster) start() (err error) {
	template := os.Getenv("FUNCTIONAL_TEMPLATE")
	if c.folder, err = os.MkdirTemp(filepath.Dir(template), "cluster"); err != nil {
		return err
	}
	if err = os.Chmod(c.folder, 0o755); err != nil { // for PostgreSQL's own user
		return err
	}
	data, ready := filepath.Join(c.folder, "data"), filepath.Join(c.folder, "ready")
	if said, err := exec.Command("cp", "-a", template, data).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	c.local = exec.Command(os.Getenv("FUNCTIONAL_DSQL"), "local", "--data", data, "--port", "0", "--ready-file", ready)
	c.local.Stderr = os.Stderr
	if err = c.local.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err = os.Stat(ready); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready: %w", err)
		}
	}
	text, err := os.ReadFile(ready)
	if err != nil {
		return err
	}
	_, after, found := strings.Cut(string(text), "export DSQL_ENDPOINT='")
	c.endpoint, _, _ = strings.Cut(after, "'")
	if !found || c.endpoint == "" {
		return fmt.Errorf("%s names no endpoint", ready)
	}
	return nil
}

func (c *dsqlCluster) stop() {
	if c.local != nil && c.local.Process != nil {
		_ = c.local.Process.Signal(syscall.SIGTERM)
		_ = c.local.Wait()
	}
	_ = os.RemoveAll(c.folder)
}
