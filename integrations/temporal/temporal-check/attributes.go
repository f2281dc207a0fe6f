package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Search attributes, of every kind that visibility keeps in its own way. A workflow that is started with them changes
// them when it begins and before it ends.
var (
	checkKey   = temporal.NewSearchAttributeKeyKeyword("CheckKey") // the workflow's id
	checkSteps = temporal.NewSearchAttributeKeyInt64("CheckSteps")
	checkTags  = temporal.NewSearchAttributeKeyKeywordList("CheckTags")
	checkText  = temporal.NewSearchAttributeKeyString("CheckText")
)

// own is what the names of these attributes begin with.
const own = "Check"

func attributesAt(id string, step int64, what string) []temporal.SearchAttributeUpdate {
	return []temporal.SearchAttributeUpdate{
		checkKey.ValueSet(id), checkSteps.ValueSet(step), checkTags.ValueSet([]string{"checked", what}), checkText.ValueSet(what + " once"),
	}
}

// upsert changes the attributes of a workflow that was started with them.
func upsert(ctx workflow.Context, step int64, what string) error {
	attributes := workflow.GetTypedSearchAttributes(ctx)
	if _, has := attributes.GetKeyword(checkKey); !has {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, attributesAt(workflow.GetInfo(ctx).WorkflowExecution.ID, step, what)...)
}

// register makes the attributes known, and waits until the frontend knows them.
func (c *checker) register(ctx context.Context) error {
	err := c.until(ctx, func(ctx context.Context) error {
		_, err := c.client.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace,
			SearchAttributes: map[string]enumspb.IndexedValueType{
				checkKey.GetName(): checkKey.GetValueType(), checkSteps.GetName(): checkSteps.GetValueType(),
				checkTags.GetName(): checkTags.GetValueType(), checkText.GetName(): checkText.GetValueType(),
			},
		})
		var already *serviceerror.AlreadyExists
		if errors.As(err, &already) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.until(ctx, func(ctx context.Context) error {
		_, err := c.listed(ctx, fmt.Sprintf("%s = 'none' AND %s = 'none' AND %s = 'none' AND %s = 1", checkKey.GetName(), checkTags.GetName(),
			checkText.GetName(), checkSteps.GetName()))
		return err
	})
}

// attributesOf are the search attributes that a history leaves its run with.
func attributesOf(events []*historypb.HistoryEvent) map[string]*commonpb.Payload {
	all := maps.Clone(events[0].GetWorkflowExecutionStartedEventAttributes().GetSearchAttributes().GetIndexedFields())
	if all == nil {
		all = map[string]*commonpb.Payload{}
	}
	for _, e := range events {
		maps.Copy(all, e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields())
	}
	return all
}

// named are those attributes that are this program's, in words.
func named(attributes map[string]*commonpb.Payload) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if strings.HasPrefix(name, own) {
			all = append(all, name+"="+string(attributes[name].GetData()))
		}
	}
	return strings.Join(all, " ")
}

func auditAttributes(run string, events []*historypb.HistoryEvent, info *workflowpb.WorkflowExecutionInfo) error {
	if has, wanted := named(info.GetSearchAttributes().GetIndexedFields()), named(attributesOf(events)); has != wanted {
		return fmt.Errorf("visibility has run %s with %q; its history leaves it with %q", run, has, wanted)
	}
	return nil
}

// questions are the queries that must find the runs of a workflow and no other: by its id and, if its last run has
// them, by its attributes.
func questions(id string, all chain) []string {
	last := attributesOf(all.events[len(all.events)-1])
	queries := []string{fmt.Sprintf("WorkflowId = '%s'", id)}
	if key := last[checkKey.GetName()]; key != nil {
		var value string
		if err := converter.GetDefaultDataConverter().FromPayload(key, &value); err != nil {
			value = err.Error()
		}
		queries = append(queries, fmt.Sprintf("%s = '%s'", checkKey.GetName(), value))
	}
	return queries
}

// remove deletes a workflow with all its runs, and its child, and waits until visibility has none of them.
func (c *checker) remove(ctx context.Context, n int) error {
	kind, id := c.nameOf(n)
	ids := []string{id}
	if kind == "child" {
		ids = append(ids, id+"-child")
	}
	for _, id := range ids {
		err := c.until(ctx, func(ctx context.Context) error { return c.removeOne(ctx, id) })
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

func (c *checker) removeOne(ctx context.Context, id string) error {
	for {
		infos, err := c.listed(ctx, fmt.Sprintf("WorkflowId = '%s'", id))
		if err != nil || len(infos) == 0 {
			return err
		}
		for _, info := range infos {
			_, err := c.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: namespace, WorkflowExecution: info.GetExecution(),
			})
			var gone *serviceerror.NotFound
			if err != nil && !errors.As(err, &gone) {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(500 * time.Millisecond)
	}
}
