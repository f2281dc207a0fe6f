package dsql

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"strings"
)

// What a transaction of the service takes, and how a plan is made to fit.

const (
	maxRows  = 3000
	maxBytes = 10 << 20
	// What is this large, counted generously, leaves its history nodes to transactions of their own, which go before
	// it: so does Temporal's own store with all of them.
	planBytes = 7 << 20
	// Of a row beside its values: keys and entries of indexes.
	rowOverhead = 512
	// Tasks that may share a row: src/temporal/pack.h.
	packMin, packMax = 64, 200
)

// A size is what steps change at least: what the service counts is no less.
type size struct{ rows, bytes int }

func (s size) add(other size) size { return size{s.rows + other.rows, s.bytes + other.bytes} }

// generous is an estimate of the bytes that the service counts.
func (s size) generous() int { return s.bytes + s.rows*rowOverhead }

func (s size) exceeds() bool { return s.rows > maxRows || s.bytes > maxBytes }

// shared are the tasks of which several may be in one row: `packs` of the catalogue.
var shared = map[C.int]bool{
	C.DSQL_OP_InsertIntoTransferTasks: true, C.DSQL_OP_InsertIntoVisibilityTasks: true,
	C.DSQL_OP_InsertIntoReplicationTasks: true, C.DSQL_OP_InsertIntoHistoryImmediateTasks: true,
}

// sizeOf counts no deletion, since nobody knows what is there, and no entry that is left alone if it is there.
func sizeOf(step *planned) size {
	name, rows := opName(step.op), step.in.rows
	writes := strings.HasPrefix(name, "Insert") || strings.HasPrefix(name, "Replace") || strings.HasPrefix(name, "Update")
	if step.gone || !writes || step.op == C.DSQL_OP_ReplaceIntoSignalsRequestedSets {
		return size{}
	}
	if shared[step.op] && rows >= packMin {
		rows = (rows + packMax - 1) / packMax
	}
	return size{rows, len(step.in.bytes)}
}

func sizeOfAll(steps []planned) size {
	var all size
	for i := range steps {
		all = all.add(sizeOf(&steps[i]))
	}
	return all
}

func isHistory(step *planned) bool {
	return step.op == C.DSQL_OP_InsertIntoHistoryNode || step.op == C.DSQL_OP_InsertIntoHistoryTree
}

// apart gives the transactions that a plan becomes when its history goes before: nodes as many as fit, and a branch
// with its first node; then the rest.
func (p *plan) apart() [][]planned {
	var scripts [][]planned
	var rest, nodes []planned
	var sum size
	for i := range p.steps {
		step := p.steps[i]
		if !isHistory(&step) {
			rest = append(rest, step)
			continue
		}
		of := sizeOf(&step)
		if len(nodes) > 0 && step.op == C.DSQL_OP_InsertIntoHistoryNode && sum.add(of).generous() > planBytes {
			scripts, nodes, sum = append(scripts, nodes), nil, size{}
		}
		nodes, sum = append(nodes, step), sum.add(of)
	}
	if len(nodes) > 0 {
		scripts = append(scripts, nodes)
	}
	return append(scripts, rest)
}

// scripts gives a plan as transactions, of which all but the last append history. The error is that of a transaction
// that will not fit whatever is done; nothing of it is sent.
func (p *plan) scripts(operation string) ([][]planned, *Error) {
	all := sizeOfAll(p.steps)
	if all.generous() <= planBytes && !all.exceeds() {
		return [][]planned{p.steps}, nil
	}
	scripts := p.apart()
	for _, steps := range scripts {
		if sum := sizeOfAll(steps); sum.exceeds() {
			return nil, beyond(operation, sum)
		}
	}
	return scripts, nil
}

// beyond is the error of what does not fit a transaction, in the service's own class.
func beyond(operation string, of size) *Error {
	return &Error{
		Op: operation, Code: "TOO_LARGE", SQLState: "54000", rc: rcTooLarge,
		Message: fmt.Sprintf("a transaction would change %d rows and %d bytes; it may change %d rows and %d bytes", of.rows, of.bytes, maxRows, maxBytes),
	}
}
