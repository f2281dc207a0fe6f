package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/schema"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	temporalschema "go.temporal.io/server/schema/postgresql/v12"
)

// PluginName is the pluginName of a sql data store in Temporal's configuration.
const PluginName = "dsql"

func init() { persistencesql.RegisterPlugin(PluginName, plugin{}) }

type plugin struct{}

// CreateDB opens the process's pool. What the configuration leaves empty comes from the environment:
// DSQL_ENDPOINT, DSQL_USER and the rest of 'dsql help config'.
func (plugin) CreateDB(kind sqlplugin.DbKind, cfg *config.SQL, _ resolver.ServiceResolver, logger log.Logger, _ metrics.Handler) (sqlplugin.GenericDB, error) {
	if kind == sqlplugin.DbKindVisibility {
		return nil, errVisibility
	}
	sayIgnored(logger, ignoredSQL(cfg))
	e, err := openEngine(poolKey{endpoint: cfg.ConnectAddr, user: cfg.User, database: cfg.DatabaseName}, cfg.MaxConns, cfg.MaxConnLifetime)
	if err != nil {
		return nil, err
	}
	name := cfg.DatabaseName
	if name == "" {
		name = "postgres" // a cluster has no other
	}
	return &db{crud: crud{e: e}, name: name}, nil
}

func (plugin) GetVisibilityQueryConverter() sqlplugin.VisibilityQueryConverter { return nil }

// db is the pool. It has no Commit: Temporal takes whatever has one for a transaction.
type db struct {
	crud
	name string
}

type tx struct{ crud }

var (
	_ sqlplugin.DB      = (*db)(nil)
	_ sqlplugin.AdminDB = (*db)(nil)
	_ sqlplugin.Tx      = (*tx)(nil)
)

func (d *db) DbName() string     { return d.name }
func (d *db) PluginName() string { return PluginName }

// Close may come more often than once: Temporal closes a handle with the last of its stores, and again with
// the factory they came from.
func (d *db) Close() error {
	d.e.close()
	return nil
}

func (d *db) BeginTx(ctx context.Context) (sqlplugin.Tx, error) {
	if planOf(ctx) != nil {
		return &tx{crud{e: d.e, tx: &txState{}}}, nil
	}
	state, err := d.e.begin(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{crud{e: d.e, tx: state}}, nil
}

func (d *db) IsDupEntryError(err error) bool { return isDuplicate(err) }

func (t *tx) Commit() error {
	if t.tx.ctx != nil { // else it is a plan's
		if r := rehearsalOf(t.tx.ctx); r != nil {
			return t.e.rehearse(t.tx, r)
		}
	}
	return t.e.end(t.tx, true)
}

func (t *tx) Rollback() error { return t.e.end(t.tx, false) }

// What the schema tools of Temporal ask for. Tables are made by 'dsql schema', which knows how the
// service wants it; nothing here changes them.

var errSchema = errors.New("dsql: the schema is the business of 'dsql schema'")

func (d *db) ExpectedVersion() string { return temporalschema.Version }

func (d *db) VerifyVersion() error {
	if err := schema.VerifyCompatibleVersion(d, d.name, d.ExpectedVersion()); err != nil {
		return fmt.Errorf("%w; 'dsql schema apply' brings it up to date", err)
	}
	return d.e.verifySchema()
}

func (d *db) ReadSchemaVersion(database string) (string, error) {
	a, err := d.query(context.Background(), new(args).ReadSchemaVersion(database))
	if err != nil {
		return "", err
	}
	return a.text(), nil
}

func (d *db) UpdateSchemaVersion(database, version, minCompatible string) error {
	_, err := d.exec(context.Background(), new(args).UpdateSchemaVersion(database, time.Now(), version, minCompatible))
	return err
}

func (d *db) WriteSchemaUpdateLog(oldVersion, newVersion, manifestMD5, desc string) error {
	now := time.Now().UTC()
	_, err := d.exec(context.Background(), new(args).WriteSchemaUpdateLog(int32(now.Year()), int32(now.Month()), now,
		oldVersion, newVersion, manifestMD5, desc))
	return err
}

func (d *db) ListTables(string) ([]string, error) {
	a, err := d.query(context.Background(), new(args).ListTables("public"))
	return list(a, err, (*answer).text)
}

func (d *db) CreateSchemaVersionTables() error { return errSchema }
func (d *db) DropTable(string) error           { return errSchema }
func (d *db) DropAllTables(string) error       { return errSchema }
func (d *db) CreateDatabase(string) error      { return errSchema }
func (d *db) DropDatabase(string) error        { return errSchema }
func (d *db) Exec(string, ...any) error        { return errSchema }
