package dsql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/server/common/searchattribute"
	"google.golang.org/protobuf/proto"
)

// Objects as PostgreSQL writes them; `copied` says whether their bytes may be taken as they are.
func TestVisibilityAttributesAreCopied(t *testing.T) {
	types := searchattribute.TestEsNameTypeMap()
	for object, copied := range map[string]bool{
		`{}`:                          true,
		`{"CustomKeywordField": "x"}`: true,
		`{"CustomKeywordField": ""}`:  true,
		`{"CustomKeywordField": "größe 日本語 🙂 € – ’ '"}`:                       true,
		`{"CustomIntField": -5, "CustomDoubleField": 2.50}`:                   true,
		`{"CustomDoubleField": 1000000000000000000000000000000}`:              true,
		`{"CustomBoolField": true, "CustomTextField": "to be, or not } to "}`: true,
		`{"CustomDatetimeField": "2026-01-02T03:04:05.120000000Z"}`:           true,
		`{"CustomDatetimeField": "2026-01-02T03:04:05.000000000+01:00"}`:      true,
		`{"BuildIds": ["a", "b, ]", "c"], "TemporalSchedulePaused": false}`:   true,
		`{"BuildIds": []}`: true,
		`{"!types": "whatever", "Nobody": "x", "Nothing": [1], "CustomIntField": 7}`: false,
		`{"!types": "whatever", "Nobody": "x", "CustomIntField": 7}`:                 true,
		`{"Nobody": "x"}`:                                 true,
		`{"CustomKeywordField": "a\"b"}`:                  false,
		`{"CustomKeywordField": "a<b"}`:                   false,
		`{"CustomKeywordField": "a&b>c"}`:                 false,
		"{\"CustomKeywordField\": \"a\u2028b\"}":          false,
		`{"CustomKeywordField": "a\u0007b"}`:              false,
		`{"CustomKeywordField": null}`:                    false,
		`{"CustomKeywordField": {"a": 1}}`:                false,
		`{"CustomDatetimeField": "yesterday"}`:            false,
		`{"BuildIds": ["a\\b"]}`:                          false,
		`{"ExecutionStatus": "x", "CustomIntField": 1}`:   false,
		`{"CustomIntField": 5, "CustomKeywordField": "x"`: false,
		`{"CustomIntField": 5 "CustomKeywordField": "x"}`: false,
		`{"CustomIntField": 05}`:                          false,
		`{"CustomIntField": 5}}`:                          false,
		`[]`:                                              false,
		``:                                                false,
	} {
		fast, ok := copiedAttributes([]byte(object), types)
		require.Equal(t, copied, ok, object)
		slow, err := decodedAttributes([]byte(object), types)
		if ok {
			require.NoError(t, err, object)
			require.True(t, proto.Equal(slow, fast), "%s: %v, not %v", object, fast, slow)
		}
		both, bothErr := visibilityAttributes([]byte(object), types)
		require.Equal(t, err == nil, bothErr == nil, object)
		require.True(t, proto.Equal(slow, both), object)
	}
}

// What is copied does not change when the memory of the page is used again.
func TestVisibilityAttributesAreTheirOwn(t *testing.T) {
	object := []byte(`{"BuildIds": ["a"], "CustomIntField": 5, "CustomKeywordField": "x"}`)
	made, ok := copiedAttributes(object, searchattribute.TestEsNameTypeMap())
	require.True(t, ok)
	before := proto.Clone(made).(*commonpb.SearchAttributes)
	for i := range object {
		object[i] = '?'
	}
	require.True(t, proto.Equal(before, made))
}

// Random objects, also broken ones: by both ways the same.
func TestVisibilityAttributesAreTheSameByBothWays(t *testing.T) {
	types := searchattribute.TestEsNameTypeMap()
	names := []string{"CustomKeywordField", "CustomTextField", "CustomIntField", "CustomDoubleField", "CustomBoolField", "CustomDatetimeField", "BuildIds", "Nobody"}
	pieces := []string{
		`"x"`, `"a b"`, `"<"`, `"ü"`, `"\u2029"`, `"\\"`, `"2026-01-02T03:04:05.5Z"`, `1`, `-2.50`, `1e5`, `true`, `false`, `null`, `["a", "b"]`, `[ ]`, `["<"]`,
		`[1]`, `{}`, `tru`, `"`, `-`, `01`,
	}
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(19, seed))
		var members []string
		for range r.IntN(4) {
			members = append(members, fmt.Sprintf("%q: %s", names[r.IntN(len(names))], pieces[r.IntN(len(pieces))]))
		}
		object := []byte("{" + strings.Join(members, ", ") + "}")
		if r.IntN(10) == 0 {
			object[r.IntN(len(object))] = `{}[]",: \x`[r.IntN(10)]
		}
		fast, ok := copiedAttributes(object, types)
		if !ok {
			continue
		}
		slow, err := decodedAttributes(object, types)
		require.NoError(t, err, "%s", object)
		require.True(t, proto.Equal(slow, fast), "%s: %v, not %v", object, fast, slow)
	}
}
