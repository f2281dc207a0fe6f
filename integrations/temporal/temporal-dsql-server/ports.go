package main

import (
	"fmt"
	"net"
	"os"
)

// The ports of the embedded configuration, beside that of the frontend and as far from it as in Temporal's own
// configurations: with the frontend at 7233, history is at 7234, membership at 6933 and so on, HTTP at 7243.
type portSet struct {
	Frontend, FrontendMembership, HTTP, History, HistoryMembership, Matching, MatchingMembership, Worker, WorkerMembership int
}

// choosePorts gives those ports, or free ones if the frontend's is 0. A port that is taken, other than one that was
// asked for, gives way to a free one, and that is said.
func choosePorts(frontend, http int) (portSet, error) {
	var p portSet
	var err error
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close() // not before all are found, so that none comes twice
		}
	}()
	choose := func(name string, port *int, offset int) {
		wanted := 0
		if frontend != 0 {
			wanted = max(frontend+offset, 0)
		}
		listener, failed := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", wanted))
		if failed != nil && wanted != 0 {
			listener, failed = net.Listen("tcp", "127.0.0.1:0")
			if failed == nil {
				fmt.Fprintf(os.Stderr, "temporal-dsql-server: port %d is taken; %s is at %d\n", wanted, name,
					listener.Addr().(*net.TCPAddr).Port)
			}
		}
		if failed != nil {
			err = failed
			return
		}
		held = append(held, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	if frontend == 0 {
		choose("the frontend", &p.Frontend, 0)
	} else {
		p.Frontend = frontend // taken or not: the server says so when it listens
	}
	if http == 0 {
		choose("HTTP", &p.HTTP, 10)
	} else {
		p.HTTP = http
	}
	choose("the frontend's membership", &p.FrontendMembership, -300)
	choose("history", &p.History, 1)
	choose("history's membership", &p.HistoryMembership, -299)
	choose("matching", &p.Matching, 2)
	choose("matching's membership", &p.MatchingMembership, -298)
	choose("worker", &p.Worker, 6)
	choose("worker's membership", &p.WorkerMembership, -294)
	return p, err
}
