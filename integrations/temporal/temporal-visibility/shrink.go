package main

import "slices"

// Making a query smaller that still shows a difference.

// smaller are queries that are a little smaller.
func (q *query) smaller() []*query {
	var all []*query
	with := func(change func(*query)) {
		c := *q
		change(&c)
		all = append(all, &c)
	}
	if q.where != nil {
		with(func(c *query) { c.where = nil })
		for _, n := range q.where.smaller() {
			with(func(c *query) { c.where = n })
		}
	}
	if q.tail != "" {
		with(func(c *query) { c.tail = "" })
	}
	if q.groupBy != "" {
		with(func(c *query) { c.groupBy = "" })
	}
	if q.page != 1000 {
		with(func(c *query) { c.page = 1000 })
	}
	return all
}

// smaller are the nodes with one thing less, the smallest first.
func (n *node) smaller() []*node {
	all := slices.Clone(n.kids)
	for i, kid := range n.kids {
		if len(n.kids) > 2 {
			c := *n
			c.kids = slices.Delete(slices.Clone(n.kids), i, i+1)
			all = append(all, &c)
		}
		for _, k := range kid.smaller() {
			c := *n
			c.kids = slices.Clone(n.kids)
			c.kids[i] = k
			all = append(all, &c)
		}
	}
	if n.operator == "IN" || n.operator == "NOT IN" {
		for i := range n.arguments {
			if len(n.arguments) > 1 {
				c := *n
				c.arguments = slices.Delete(slices.Clone(n.arguments), i, i+1)
				all = append(all, &c)
			}
		}
	}
	if n.bare {
		c := *n
		c.bare = false
		all = append(all, &c)
	}
	return all
}

// shrink gives the smallest query that still differs, and what it differs in.
func shrink(q *query, differs func(*query) string) (*query, string) {
	said := differs(q)
	for progress := true; progress; {
		progress = false
		for _, c := range q.smaller() {
			if s := differs(c); s != "" {
				q, said, progress = c, s, true
				break
			}
		}
	}
	return q, said
}
