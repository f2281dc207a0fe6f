package dsql

import (
	"context"
	"database/sql"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// SQL visibility needs extensions, full-text search and more indexes than Aurora DSQL has.
var errVisibility = serviceerror.NewUnimplemented(
	"Aurora DSQL cannot hold Temporal's visibility: use Elasticsearch or OpenSearch")

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
