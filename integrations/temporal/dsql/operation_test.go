package dsql

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"go.temporal.io/server/common/persistence"
)

// methodsThatName gives, for "store.Method", whether its source says its own name.
func methodsThatName(t *testing.T) map[string]bool {
	_, here, _, _ := runtime.Caller(0)
	found := map[string]bool{}
	for _, name := range []string{"stores.go", "reads.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(filepath.Dir(here), name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			store := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					said, _ := strconv.Unquote(text.Value)
					found[store+"."+f.Name.Name] = said == f.Name.Name
				}
				return true
			})
		}
	}
	return found
}

// Every method of Temporal's stores that asks the database is an operation of the metrics, under its own name: a
// method that a new release adds is found here.
func TestEveryOperationHasItsName(t *testing.T) {
	says := methodsThatName(t)
	withContext := reflect.TypeFor[context.Context]()
	count := 0
	for store, of := range map[string]reflect.Type{
		"shardStore":           reflect.TypeFor[persistence.ShardStore](),
		"taskStore":            reflect.TypeFor[persistence.TaskStore](),
		"metadataStore":        reflect.TypeFor[persistence.MetadataStore](),
		"clusterMetadataStore": reflect.TypeFor[persistence.ClusterMetadataStore](),
		"executionStore":       reflect.TypeFor[persistence.ExecutionStore](),
		"queue":                reflect.TypeFor[persistence.Queue](),
		"queueV2":              reflect.TypeFor[persistence.QueueV2](),
		"nexusEndpointStore":   reflect.TypeFor[persistence.NexusEndpointStore](),
	} {
		for i := range of.NumMethod() {
			method := of.Method(i)
			if method.Type.NumIn() == 0 || method.Type.In(0) != withContext {
				continue
			}
			count++
			if !says[store+"."+method.Name] {
				t.Errorf("%s.%s is no operation of that name", store, method.Name)
			}
		}
	}
	if count < 60 {
		t.Fatalf("%d methods were looked at", count)
	}
}
