//go:build temporal131

package dsql

import (
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/store/query"
	"go.temporal.io/server/common/searchattribute"
)

// newVisibilityConverter is the parser of Temporal 1.31, which neither counts nor logs.
func newVisibilityConverter(name namespace.Name, types searchattribute.NameTypeMap, mapper searchattribute.Mapper,
	_ metrics.Handler, _ log.Logger,
) *query.QueryConverter[visibilityExpr] {
	return query.NewQueryConverter[visibilityExpr](visibilityConverter{}, name, types, mapper)
}
