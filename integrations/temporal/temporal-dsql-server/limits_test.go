package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"

	"libdsql/integrations/temporal/dsql"
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The table of docs/temporal.md says of each limit what Temporal's default is, and what it is here. Keys
// are in lower case.
func TestLimitsAreDocumented(t *testing.T) {
	root := os.Getenv("SOURCE_DIR") // the tests of make run elsewhere
	if root == "" {
		root = "../../.."
	}
	text, err := os.ReadFile(root + "/docs/temporal.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][2]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:limit|history|system)\\.[a-zA-Z.]+)` \\| ([0-9,]+) \\| ([0-9,]+) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[strings.ToLower(row[1])] = [2]int{number(t, row[2]), number(t, row[3])}
	}
	for _, limit := range dsql.Limits() {
		if got := documented[limit.Key]; got != [2]int{limit.Stock, limit.Here()} {
			t.Errorf("%s: Temporal's default is %d, here it is %d; the table says %v", limit.Key, limit.Stock, limit.Here(), got)
		}
		delete(documented, limit.Key)
	}
	delete(documented, dynamicconfig.MaxIDLengthLimit.Key().String()) // keys hold ids of any length
	for key := range documented {
		t.Errorf("%s is in the table, and nobody computes it", key)
	}
}

// What is lower here is set, what is not is left to Temporal; and all is written at the start.
func TestLimitsAreSetAndWritten(t *testing.T) {
	client, err := dynamicConfig(&config.Config{}, options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range dsql.Limits() {
		values := client.GetValue(dynamicconfig.MakeKey(limit.Key))
		if lower := limit.Here() < limit.Stock; lower != (len(values) == 1 && values[0].Value == limit.Here()) || len(values) > 1 {
			t.Errorf("%s: Temporal's default is %d, the store carries %d, and set is %v", limit.Key, limit.Stock, limit.Carried, values)
		}
		if !strings.Contains(describeLimits(), limit.Key+"="+strconv.Itoa(limit.Here())) {
			t.Errorf("%s is not in %q", limit.Key, describeLimits())
		}
	}
}
