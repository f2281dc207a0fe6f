package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"gopkg.in/yaml.v3"

	"libdsql/integrations/temporal/dsql"
)

// dynamicValues are those of --dynamic-config-value.
type dynamicValues map[string]any

func (d dynamicValues) String() string {
	return strings.Join(slices.Sorted(maps.Keys(d)), ", ")
}

func (d dynamicValues) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return errors.New("it is KEY=VALUE")
	}
	var parsed any // YAML holds JSON, and keeps whole numbers whole
	if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
		return fmt.Errorf("%s: the value is no JSON: %w", key, err)
	}
	d[key] = parsed
	return nil
}

// limits are those of Temporal's that are lower here: what the store would not carry.
func limits() map[string]any {
	lower := map[string]any{}
	for _, limit := range dsql.Limits() {
		if limit.Here() < limit.Stock {
			lower[limit.Key] = limit.Here()
		}
	}
	return lower
}

// describeLimits is the line that a server writes when it starts: every limit that the store could not carry, and which
// are lower than Temporal's default.
func describeLimits() string {
	var texts []string
	for _, limit := range dsql.Limits() {
		text := fmt.Sprintf("%s=%d", limit.Key, limit.Here())
		if limit.Here() < limit.Stock {
			text += fmt.Sprintf(" (Temporal: %d)", limit.Stock)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// endings: a task of history whose transaction is refused for what it is goes to the dead letters at once, not after an
// hour.
var endings = map[string]any{
	"history.TaskDLQErrorPattern": dsql.Refused,
}

// development is what 'temporal server start-dev' turns on: standalone activities.
var development = map[string]any{
	"history.enableChasm":                                   true,
	"activity.enableStandalone":                             true,
	"history.enableStandaloneActivityOperatorCommands":      true,
	"frontend.enableBatchOperationsForStandaloneActivities": true,
}

// dynamicConfig is the server's dynamic configuration: none of ours if the configuration names one, else the limits,
// with the embedded configuration what start-dev has, and over both what the command line says.
func dynamicConfig(cfg *config.Config, o options) (dynamicconfig.Client, error) {
	if cfg.DynamicConfigClient != nil {
		if len(o.dynamic) > 0 {
			return nil, errors.New("--dynamic-config-value: the configuration has a dynamicConfigClient; write the values into its file")
		}
		return nil, nil
	}
	values := dynamicconfig.StaticClient{}
	add := func(more map[string]any) {
		for key, value := range more {
			values[dynamicconfig.MakeKey(key)] = value
		}
	}
	add(limits())
	add(endings)
	if o.file == "" {
		add(development)
	}
	add(o.dynamic)
	return values, nil
}
