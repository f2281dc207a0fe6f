//go:build !temporal131

package dsql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Temporal 1.31 takes no fraction with a sign.
func TestVisibilityNegativeNumbers(t *testing.T) {
	for text, wanted := range map[string][]byte{
		`CustomIntField > -1.5`:     visibilityNode(visibilityMore, kindInt, "CustomIntField", visibilityInt(-2)),
		`CustomDoubleField != -2.5`: visibilityNode(visibilityNotIn, kindDouble, "CustomDoubleField", visibilityReal(-2.5)),
	} {
		got, err := convertVisibility(t, text)
		require.NoError(t, err, text)
		require.Equal(t, visibilityExpr(visibilityJoin('A', noDivision, wanted)), got, text)
	}
}
