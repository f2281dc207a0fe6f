package dsql

/*
#include <stdlib.h>
#include "watch.h"
*/
import "C"

import (
	"time"
	"unsafe"
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
	go func() {
		defer close(p.done)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				C.bridge_watch_sample(p.c)
			case <-p.over:
				tick.Stop()
				return
			}
		}
	}()
	return C.GoString(C.bridge_watch_url(p.c)), nil
}

func (p *pages) stop() {
	if p == nil {
		return
	}
	close(p.over)
	<-p.done
	C.bridge_watch_stop(p.c)
}
