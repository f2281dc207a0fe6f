package main

import (
	"strings"
)

// The differences that are known, each with its reason. What Temporal's own store cannot hold or find at all is not
// generated: keywords with quotation marks, backslashes and control characters, which it looks for in another spelling
// than it keeps; texts with the signs of PostgreSQL's tsvector; doubles with more than five digits after the point;
// nanoseconds in attributes.

type difference struct {
	reason  string
	subject string // the store that is tried; empty for any
	applies func(q *query, reference, subject outcome) bool
}

var differences = []difference{
	{
		reason: "PostgreSQL has no year 0, and Temporal's store gives its client an error to be repeated",
		applies: func(_ *query, reference, _ outcome) bool {
			return strings.Contains(reference.message, "(SQLSTATE 22008)")
		},
	},
	{
		reason: "the SQL visibility of Temporal 1.31 panics at a list of keywords where it expects one, and has PostgreSQL compare keywords with booleans",
		applies: func(_ *query, reference, subject outcome) bool {
			return reference.failure == panicked || subject.failure == "InvalidArgument" && strings.Contains(reference.message, "(SQLSTATE 42883)")
		},
	},
	{
		reason: "SQLite answers != and NOT IN on lists and texts with the runs that have no value, folds the case of STARTS_WITH, cuts texts into " +
			"other words and compares times as texts, whatever their zones",
		subject: "sqlite",
		applies: func(q *query, _, _ outcome) bool {
			text := q.text()
			for _, sign := range []string{"STARTS_WITH", "Text0", "KeywordList0", "BuildIds", "ThingList", "TemporalReportedProblems", "Datetime01", "TemporalScheduledStartTime", "ThingTime"} {
				if strings.Contains(text, sign) {
					return true
				}
			}
			return false
		},
	},
}

// known is the reason for a difference, empty if there is none.
func known(_, subject *tried, q *query, r, s outcome) string {
	for _, d := range differences {
		if (d.subject == "" || d.subject == subject.name) && d.applies(q, r, s) {
			return d.reason
		}
	}
	return ""
}
