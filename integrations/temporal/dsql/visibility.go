package dsql

import (
	"context"
	"database/sql"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// The visibility of a SQL plugin needs extensions, full-text search and more indexes than Aurora DSQL has. The store
// that takes its place is a VisibilityStore.
var errVisibility = serviceerror.NewUnimplemented(
	"Aurora DSQL cannot hold the visibility of a SQL plugin: use a customDatastore with the name dsql")

func (crud) InsertIntoVisibility(context.Context, *sqlplugin.VisibilityRow) (sql.Result, error) {
	return nil, errVisibility
}

func (crud) ReplaceIntoVisibility(context.Context, *sqlplugin.VisibilityRow) (sql.Result, error) {
	return nil, errVisibility
}

func (crud) SelectFromVisibility(context.Context, sqlplugin.VisibilitySelectFilter) ([]sqlplugin.VisibilityRow, error) {
	return nil, errVisibility
}

func (crud) GetFromVisibility(context.Context, sqlplugin.VisibilityGetFilter) (*sqlplugin.VisibilityRow, error) {
	return nil, errVisibility
}

func (crud) DeleteFromVisibility(context.Context, sqlplugin.VisibilityDeleteFilter) (sql.Result, error) {
	return nil, errVisibility
}

func (crud) CountFromVisibility(context.Context, sqlplugin.VisibilitySelectFilter) (int64, error) {
	return 0, errVisibility
}

func (crud) CountGroupByFromVisibility(context.Context, sqlplugin.VisibilitySelectFilter) ([]sqlplugin.VisibilityCountRow, error) {
	return nil, errVisibility
}
