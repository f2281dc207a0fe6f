package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
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

// layered is a dynamic configuration of the operator's, over what the server sets by itself: a file that says nothing of a
// setting takes none away.
type layered struct {
	*dynamicconfig.FileBasedClient
	below dynamicconfig.StaticClient
}

func (l layered) over(key dynamicconfig.Key, values []dynamicconfig.ConstrainedValue) []dynamicconfig.ConstrainedValue {
	return append(slices.Clip(values), l.below.GetValue(key)...) // of two that fit, Temporal takes the first
}

func (l layered) GetValue(key dynamicconfig.Key) []dynamicconfig.ConstrainedValue {
	return l.over(key, l.FileBasedClient.GetValue(key))
}

// Subscribe tells what changed in the file.
func (l layered) Subscribe(update dynamicconfig.ClientUpdateFunc) (cancel func()) {
	return l.FileBasedClient.Subscribe(func(changed map[dynamicconfig.Key][]dynamicconfig.ConstrainedValue) {
		whole := map[dynamicconfig.Key][]dynamicconfig.ConstrainedValue{}
		for key, values := range changed {
			whole[key] = l.over(key, values)
		}
		update(whole)
	})
}

// dynamicConfig is the server's dynamic configuration: the limits and endings, with the embedded configuration what
// start-dev has, and over them what the command line says, or the file that the configuration names.
func dynamicConfig(cfg *config.Config, o options) (dynamicconfig.Client, error) {
	values := dynamicconfig.StaticClient{}
	add := func(more map[string]any) {
		for key, value := range more {
			values[dynamicconfig.MakeKey(key)] = value
		}
	}
	add(limits())
	add(endings)
	if file := cfg.DynamicConfigClient; file != nil {
		if len(o.dynamic) > 0 {
			return nil, errors.New("--dynamic-config-value: the configuration has a dynamicConfigClient; write the values into its file")
		}
		client, err := dynamicconfig.NewFileBasedClient(file, log.NewZapLogger(log.BuildZapLogger(cfg.Log)), make(chan any))
		if err != nil {
			return nil, fmt.Errorf("dynamicConfigClient: %w", err)
		}
		return layered{client, values}, nil
	}
	if o.file == "" {
		add(development)
	}
	add(o.dynamic)
	return values, nil
}
