package dsql

/*
#include <stdlib.h>
#include "watch.h"
*/
import "C"

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// pages are the HTTP endpoint of the process: libdsql's own, with its checks.
type pages struct {
	c    *C.struct_bridge_watch
	over chan struct{}
	done chan struct{}
}

// Watch serves /metrics, /healthz, /readyz, /status.json and the status page at an address, or at
// DSQL_METRICS_ADDRESS if it is empty. It gives the URL, or nothing if that is "off".
func (c *Cluster) Watch(address string) (string, error) {
	where := C.CString(address)
	defer C.free(unsafe.Pointer(where))
	p := &pages{over: make(chan struct{}), done: make(chan struct{})}
	var cerr C.struct_dsql_err
	if rc := C.bridge_watch_start(c.db.e.c, where, &p.c, &cerr); rc != 0 {
		return "", newError("metrics", rc, &cerr)
	}
	if p.c == nil {
		return "", nil
	}
	c.pages = p
	go p.run(c.db)
	return C.GoString(C.bridge_watch_url(p.c)), nil
}

// quiet is for how long nobody has to be answered before the pages ask something themselves, and how long they wait for
// it: /readyz of a process that nobody uses would know nothing of its cluster.
const quiet = 5 * time.Second

func (p *pages) run(d *db) {
	defer close(p.done)
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asked := make(chan struct{}, 1) // holds something while a question is under way
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.over:
			return
		}
		C.bridge_watch_sample(p.c)
		if age := time.Duration(C.bridge_watch_answer_age(p.c)); age >= 0 && age < quiet {
			continue
		}
		select {
		case asked <- struct{}{}:
			asking.Go(func() {
				defer func() { <-asked }()
				d.probe(ctx)
			})
		default:
		}
	}
}

// probe asks the cluster something. Who watches the pool learns whether it was answered.
func (d *db) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	_, _ = operate(ctx, d.e, "Readiness", func(ctx context.Context) (*sqlplugin.ClusterMetadataRow, error) {
		return d.GetClusterMetadata(ctx, &sqlplugin.ClusterMetadataFilter{ClusterName: "active"})
	})
}

func (p *pages) stop() {
	if p == nil {
		return
	}
	close(p.over)
	<-p.done
	C.bridge_watch_stop(p.c)
}
