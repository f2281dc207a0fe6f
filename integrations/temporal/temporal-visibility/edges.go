package main

import "strings"

// edgeQueries are texts at the edges of what Temporal's parser and the stores take: quoting, names that are words of SQL,
// numbers of all forms, NOT of everything, lists of one, prefixes with signs of LIKE, times at the ends, and clauses that are
// refused. Whether one is answered is Temporal's store's decision, and what.
var edgeQueries = []string{
	// quoting and names
	`WorkflowId = "order-1"`, "`WorkflowId` = `order-1`", `WorkflowId = 'or''der'`, `WorkflowId = "or'der"`, `Keyword01 = "o'clock"`,
	`Keyword01 = 'o\'clock'`, `Keyword01 = "o""clock"`, `WorkflowId = order-1`, `WorkflowId = 'order-1' -- comment`, `WorkflowId = 'order-1' /* x */`,
	`WorkflowId = 'order-1';`, `select`, `where`, `WHERE WorkflowId = 'order-1'`, `WorkflowId`, `'order-1' = WorkflowId`, `1 = 1`, `true`, `NULL`,
	`workflowid = 'order-1'`, `WORKFLOWID = 'order-1'`, `executionstatus = 'Running'`, `ExecutionStatus = 'running'`, `ExecutionStatus = 'RUNNING'`,
	`ExecutionStatus = ''`, `ExecutionStatus = 0`, `ExecutionStatus = 99`, `ExecutionStatus = -1`, `ExecutionStatus = 1.0`, `ExecutionStatus = 1.5`,
	`ExecutionStatus = '1'`, `ExecutionStatus = 99999`, `ExecutionStatus > 'Running'`, `ExecutionStatus BETWEEN 'Running' AND 'Failed'`,
	`ExecutionStatus IN ('Running')`, `ExecutionStatus IN (1, 'Failed', 99999)`, `ExecutionStatus NOT IN ('Running', 'Failed')`,
	`ExecutionStatus IS NULL`, `ExecutionStatus IS NOT NULL`, `ExecutionStatus != 'Running'`, `ExecutionStatus STARTS_WITH 'R'`,
	`Keyword01 = 'WorkflowId'`, `Keyword01 = WorkflowId`, `Keyword01 = Keyword02`, `CustomKeyword = 'x'`, `Custom.Keyword = 'x'`, `executions_visibility.Keyword01 = 'a'`,
	`status = 1`, `namespace_id = 'x'`, `run_id = 'x'`, `Namespace = 'x'`, `NamespaceId = 'x'`, `VisibilityTime = 1`, `_version = 1`, `Memo = 'x'`, `Encoding = 'x'`,
	// empty and long texts, blanks, unicode
	`WorkflowId = ''`, `WorkflowId != ''`, `WorkflowId > ''`, `WorkflowId STARTS_WITH ''`, `WorkflowId NOT STARTS_WITH ''`, `Keyword01 = ''`, `Keyword01 IN ('')`,
	`Keyword01 STARTS_WITH ''`, `KeywordList01 = ''`, `Text01 = ''`, `Text01 = ' '`, `Text01 != ''`, `TemporalNamespaceDivision = ''`, `TemporalNamespaceDivision != ''`,
	`TemporalNamespaceDivision IN ('', 'TemporalScheduler')`, `TemporalNamespaceDivision NOT IN ('TemporalScheduler')`, `TemporalNamespaceDivision STARTS_WITH 'T'`,
	`TemporalNamespaceDivision > 'A'`, `TemporalNamespaceDivision STARTS_WITH ''`, `NOT (TemporalNamespaceDivision IS NULL)`, `TemporalNamespaceDivision BETWEEN '' AND 'z'`,
	`NOT (TemporalNamespaceDivision = 'TemporalScheduler')`, `TemporalNamespaceDivision = 'ünïcode'`,
	`TemporalNamespaceDivision IS NULL AND TemporalNamespaceDivision = 'TemporalScheduler'`, `TemporalNamespaceDivision = 'TemporalScheduler' OR WorkflowId = 'order-1'`,
	`Keyword01 = '日本語'`, `Keyword01 STARTS_WITH '日'`, `Keyword01 > '日'`, `Keyword01 < '🙂'`, `Keyword01 >= '🙂 smile'`, `Keyword01 BETWEEN 'Ä' AND '日'`,
	`WorkflowType = 'Größe'`, `WorkflowType = 'Gro\u0308ße'`, `TaskQueue STARTS_WITH 'ü'`, `Text01 = 'größe'`, `Text01 = 'GRÖSSE'`, `Text01 = 'größe 日本語'`,
	// signs of LIKE and of regular expressions
	`WorkflowId STARTS_WITH 'a%'`, `WorkflowId STARTS_WITH '%'`, `WorkflowId STARTS_WITH '_'`, `Keyword01 STARTS_WITH '100%'`, `Keyword01 STARTS_WITH '100_'`,
	`Keyword01 STARTS_WITH '1__'`, `Keyword01 NOT STARTS_WITH '100_'`, `Keyword01 STARTS_WITH 'x!'`, `Keyword01 STARTS_WITH 'x!!'`, `WorkflowId LIKE 'order%'`,
	`WorkflowId NOT LIKE 'order%'`, `WorkflowId REGEXP 'order'`, `Keyword01 STARTS_WITH 'category='`, `Keyword01 STARTS_WITH 5`, `KeywordList01 STARTS_WITH 'a'`, `Text01 STARTS_WITH 'a'`,
	`Int01 STARTS_WITH '1'`, `Bool01 STARTS_WITH 't'`, `StartTime STARTS_WITH '2026'`, `RunId STARTS_WITH 'a'`, `ParentWorkflowId STARTS_WITH 'order'`, `RootRunId NOT STARTS_WITH 'a'`,
	// numbers
	`Int01 = -1`, `Int01 = - 1`, `Int01 = +1`, `Int01 = --1`, `Int01 = 1e0`, `Int01 = 0x10`, `Int01 = 007`, `Int01 = 1.0`, `Int01 = .5`, `Int01 = 5.`, `Int01 > -0.5`, `Int01 < 0.0`,
	`Int01 = 9223372036854775807`, `Int01 = 9223372036854775808`, `Int01 < 9223372036854775808`, `Int01 > -9223372036854775808`, `Int01 >= -9223372036854775809`,
	`Int01 BETWEEN 10 AND 1`, `NOT (Int01 BETWEEN 10 AND 1)`, `Int01 NOT BETWEEN 10 AND 1`, `NOT (Int01 NOT BETWEEN 1 AND 10)`, `Int01 BETWEEN -0.5 AND 0.5`, `Int01 NOT BETWEEN 0.5 AND 1.5`,
	`Int01 IN (1)`, `Int01 IN (1, 1, 1)`, `Int01 IN ()`, `Int01 NOT IN (0.5)`, `Int01 IN (0.5)`, `Int01 IN (1, NULL)`, `Int01 = NULL`, `Int01 != NULL`, `Int01 = '1'`, `Int01 IN ('1')`, `Int01 = true`,
	`Int01 = 1 + 1`, `Int01 + 1 = 2`, `Int01 IS TRUE`, `Int01 IN (1, 2.5, -3)`, `NOT (Int01 = 1.5)`, `NOT (Int01 IN (0.5))`, `NOT (Int01 != 1.5)`, `NOT (Int01 NOT IN (0.5))`,
	`Double01 = 1`, `Double01 = 1.5`, `Double01 = -1.5`, `Double01 = -.5`, `Double01 > -1e0`, `Double01 = 0.03125`, `Double01 IN (0.5, -1.5, 100)`, `Double01 BETWEEN -1.5 AND 1.5`, `Double01 NOT BETWEEN -1.5 AND 1.5`,
	`Double01 = '1.5'`, `Double01 = 0`, `Double01 = -0.0`, `Double01 < 123456.5`, `Double01 = 99999999999999999999`, `Double01 != 99999999999999999999`,
	`HistoryLength = 10`, `HistoryLength > 1.5`, `HistoryLength IS NULL`, `HistoryLength != 3`, `HistorySizeBytes >= 0`, `StateTransitionCount NOT IN (1)`, `HistoryLength = '10'`,
	`ExecutionDuration = 0`, `ExecutionDuration > '1h'`, `ExecutionDuration > '1h30m'`, `ExecutionDuration < '-1s'`, `ExecutionDuration = '1:00:00'`, `ExecutionDuration > '25:00:00'`, `ExecutionDuration = 'x'`, `ExecutionDuration = ''`,
	`ExecutionDuration IS NULL`, `ExecutionDuration BETWEEN '10ms' AND '2h'`, `ExecutionDuration IN ('1h', '90m')`, `ExecutionDuration > 1.5`, `ExecutionDuration >= '1d'`, `ExecutionDuration != '1h'`,
	// booleans
	`Bool01 = true`, `Bool01 = TRUE`, `Bool01 = 'true'`, `Bool01 = 1`, `Bool01 != true`, `Bool01 < true`, `Bool01 IN (true)`, `Bool01 IN (true, false)`, `Bool01 IS NULL`, `NOT (Bool01 = true)`, `Bool01`, `NOT Bool01`, `Bool01 BETWEEN false AND true`,
	// missing values and NOT
	`Keyword01 != 'a'`, `NOT (Keyword01 = 'a')`, `NOT (NOT (Keyword01 = 'a'))`, `NOT Keyword01 = 'a'`, `NOT (Keyword01 IS NULL)`, `Keyword01 IS NOT NULL`, `NOT (Keyword01 IN ('a'))`, `Keyword01 NOT IN ('a')`,
	`NOT (Keyword01 BETWEEN 'a' AND 'b')`, `Keyword01 NOT BETWEEN 'a' AND 'b'`, `NOT (Keyword01 STARTS_WITH 'a')`, `Keyword01 BETWEEN 'b' AND 'a'`, `NOT (Keyword01 = 'a' AND Int01 = 1)`, `NOT (Keyword01 = 'a' OR Int01 = 1)`,
	`NOT (KeywordList01 = 'alpha')`, `KeywordList01 != 'alpha'`, `KeywordList01 NOT IN ('alpha')`, `NOT (KeywordList01 NOT IN ('alpha'))`, `NOT (KeywordList01 IS NULL)`, `KeywordList01 IN ('alpha')`, `KeywordList01 IN ('alpha', 'alpha')`,
	`KeywordList01 > 'a'`, `KeywordList01 BETWEEN 'a' AND 'b'`, `KeywordList01 = 5`, `NOT (Text01 = 'alpha')`, `NOT (Text01 != 'alpha')`, `Text01 IN ('alpha')`, `Text01 = 'alpha beta'`, `Text01 != 'alpha beta'`, `Text01 > 'a'`, `Text01 = 5`,
	`CloseTime IS NULL`, `CloseTime IS NOT NULL`, `NOT (CloseTime IS NULL)`, `CloseTime != '2026-03-01T12:00:00Z'`, `NOT (CloseTime > '2026-03-01T12:00:00Z')`, `ParentWorkflowId IS NULL`, `ParentWorkflowId != 'order-1'`, `NOT (ParentWorkflowId = 'order-1')`,
	`Keyword01 IS NULL AND Keyword02 IS NULL`, `Keyword01 IS NULL OR NOT (Keyword01 = 'a')`, `Keyword01 = 'a' AND Keyword01 = 'b'`, `Keyword01 = 'a' AND Keyword01 != 'a'`, `RunId IS NULL`, `WorkflowId IS NULL`, `StartTime IS NULL`,
	`BuildIds IS NULL`, `BuildIds = 'alpha' AND BuildIds = 'ab'`, `BuildIds != 'alpha' AND BuildIds != 'ab'`,
	// times
	`StartTime > '2026-03-01T12:00:00Z'`, `StartTime > '2026-03-01T12:00:00+02:00'`, `StartTime > '2026-03-01T12:00:00.000001Z'`, `StartTime > '2026-03-01T12:00:00.0000015Z'`, `StartTime = '2026-03-01T12:07:00Z'`,
	`StartTime > '2026-03-01'`, `StartTime > '2026-03-01 12:00:00'`, `StartTime > 'now'`, `StartTime > ''`, `StartTime > 0`, `StartTime > -1`, `StartTime < 9223372036854775807`, `StartTime > 1772366400000000000`, `StartTime > 1772366400000000000.5`,
	`StartTime > '1772366400000000000'`, `StartTime < '9999-12-31T23:59:59Z'`, `StartTime > '0001-01-01T00:00:00Z'`, `StartTime > '0000-01-01T00:00:00Z'`, `StartTime > '1677-09-21T00:12:43Z'`, `StartTime > '10000-01-01T00:00:00Z'`,
	`CloseTime < '9999-12-31T23:59:59.999999999Z'`, `CloseTime > '0001-01-01T00:00:00Z'`, `CloseTime BETWEEN '2026-03-01T12:00:00Z' AND '2026-03-01T12:07:00Z'`, `CloseTime BETWEEN '2026-03-02T12:00:00Z' AND '2026-03-01T12:07:00Z'`,
	`CloseTime NOT BETWEEN '2026-03-01T12:00:00Z' AND '2026-03-01T16:00:00Z'`, `NOT (StartTime BETWEEN '2026-03-01T12:00:00Z' AND '2026-03-01T16:00:00Z')`, `StartTime IN ('2026-03-01T12:07:00Z')`, `StartTime NOT IN ('2026-03-01T12:07:00Z')`,
	`StartTime != '2026-03-01T12:07:00Z'`, `StartTime = true`, `ExecutionTime = '2026-03-01T12:07:00Z'`, `ExecutionTime < '1970-01-01T00:00:00Z'`, `ExecutionTime = 0`, `Datetime01 = '2026-03-01T12:07:00Z'`, `Datetime01 > '2026-03-01T14:07:00+02:00'`,
	`Datetime01 IN ('2026-03-01T12:07:00Z', '2026-03-01T12:14:00Z')`, `Datetime01 = 1772366820000000000`, `Datetime01 < '0001-01-01T00:00:00Z'`, `Datetime01 < '9999-12-31T23:59:59Z'`, `Datetime01 NOT BETWEEN '2026-03-01T12:00:00Z' AND '2026-03-01T16:00:00Z'`,
	`CloseTime > '2026-03-01T12:00:00Z' AND CloseTime < '2026-03-01T16:00:00Z' AND StartTime > '2026-03-01T13:00:00Z'`, `CloseTime IS NULL AND StartTime > '2026-03-01T13:00:00Z'`, `CloseTime IS NULL OR CloseTime > '2026-03-01T16:00:00Z'`,
	`CloseTime = '2026-03-01T12:07:00Z' OR StartTime = '2026-03-01T12:07:00Z'`,
	// joins and parentheses
	`(WorkflowId = 'order-1')`, `((WorkflowId = 'order-1'))`, `(WorkflowId = 'order-1'`, `WorkflowId = 'order-1')`, `()`, `WorkflowId = 'order-1' AND`, `AND WorkflowId = 'order-1'`, `WorkflowId = 'order-1' XOR RunId = 'x'`, `WorkflowId = 'order-1' && RunId = 'x'`,
	`WorkflowId = 'order-1' || RunId = 'x'`, `! (WorkflowId = 'order-1')`, `WorkflowId <> 'order-1'`, `WorkflowId == 'order-1'`, `WorkflowId <=> 'order-1'`, `WorkflowId IN 'order-1'`, `WorkflowId IN ('order-1')`, `WorkflowId = ('order-1')`, `WorkflowId IN ('order-1', 5)`,
	`WorkflowId NOT IN ('order-1', 'order-1')`, `WorkflowId IN (SELECT 1)`, `EXISTS (SELECT 1)`, `WorkflowId = 'order-1' OR WorkflowId = 'order-1'`, `WorkflowId = 'order-1' AND NOT WorkflowId = 'order-1'`, `WorkflowType = 'Pay' AND (ExecutionStatus = 'Running' OR ExecutionStatus = 'Completed')`,
	`WorkflowType IN ('Pay', 'Ship') AND ExecutionStatus IN ('Running', 'Completed') AND TemporalNamespaceDivision IS NULL`, `WorkflowType = 'Pay' AND ExecutionStatus = 'Running' AND CloseTime IS NOT NULL`,
	`RunId = 'x' OR (WorkflowId = 'order-1' AND TaskQueue = 'main')`, `LOWER(WorkflowId) = 'order-1'`, `COUNT(*) > 1`, `CASE WHEN 1 THEN 1 END = 1`,
	// clauses behind
	`ORDER BY StartTime`, `ORDER BY CloseTime DESC, StartTime DESC`, `WorkflowId = 'order-1' ORDER BY WorkflowId`, `ORDER BY NoSuchAttribute`, `ORDER BY Keyword01`, `ORDER BY Text01`, `ORDER BY 1`, `LIMIT 5`, `WorkflowId = 'order-1' LIMIT 1`, `LIMIT 0`, `LIMIT 5 OFFSET 5`,
	`WorkflowId = 'order-1' HAVING 1`, `GROUP BY ExecutionStatus`, `GROUP BY ExecutionStatus, WorkflowType`, `GROUP BY WorkflowType`, `GROUP BY Keyword01`, `GROUP BY ExecutionStatus LIMIT 1`, `GROUP BY ExecutionStatus ORDER BY ExecutionStatus`, `GROUP BY executionstatus`,
	`GROUP BY TemporalNamespaceDivision`, `GROUP BY NoSuchAttribute`, `GROUP BY 1`, `GROUP BY TemporalLowCardinalityKeyword01`, `FOR UPDATE`, `UNION SELECT 1`, `; DROP TABLE executions_visibility`,
	// archetypes and aliases
	`ThingKeyword = 'a'`, `ThingId = 'order-1'`, `ThingId STARTS_WITH 'order'`, `ThingKind = 'a'`, `ThingKind IS NULL`, `ThingList = 'alpha'`, `ThingTime > '2026-03-01T12:00:00Z'`, `ThingBool = true`, `ThingInt > -0.5`, `ThingDouble = -1.5`, `TemporalKeyword01 = 'a'`, `TemporalLowCardinalityKeyword01 = 'a'`,
	`TemporalInt01 = 1`, `GROUP BY ThingKind`, `ThingKind = 'a' GROUP BY ThingKind`, `ThingKind IN ('a', 'b') GROUP BY ExecutionStatus`, `ThingId IS NULL`, `WorkflowId = 'order-1' AND ThingId = 'order-1'`, `GROUP BY ThingId`, `ThingNone = 'a'`,
	`ScheduleId = 'order-1'`, `ScheduleId STARTS_WITH 'order'`, `TemporalScheduledById IS NULL`, `TemporalSchedulePaused != true`, `TemporalPauseInfo = 'a'`, `TemporalChangeVersion = 'a'`, `BinaryChecksums = 'a'`, `BuildId = 'a'`, `TemporalUsedWorkerDeploymentVersions = 'a'`,
}

// edge is the number of those queries.
const edge = -2

// edges are those queries, of runs and of CHASM executions.
func edges() []*query {
	var all []*query
	for _, text := range edgeQueries {
		for _, chasm := range []bool{false, true} {
			tail, group, _ := strings.Cut(text, "GROUP BY ")
			all = append(all, &query{number: edge, namespace: namespaces[0], tail: strings.TrimSpace(tail), groupBy: group, page: 7, chasm: chasm})
		}
	}
	return all
}
