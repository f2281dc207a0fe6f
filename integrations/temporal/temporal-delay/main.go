// temporal-delay passes connections on, lets what a client sends wait as long as a round trip would take,
// and counts the round trips: how often a client spoke after it had heard something. Prints two ports: where
// it listens, and where a line with a duration sets the wait and is answered with the count so far.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

var (
	delay atomic.Int64
	trips atomic.Int64
)

type chunk struct {
	due   time.Time
	bytes []byte
}

// hearing notes that the client was sent something.
type hearing struct {
	net.Conn
	heard *atomic.Bool
}

func (h hearing) Write(bytes []byte) (int, error) {
	h.heard.Store(true)
	return h.Conn.Write(bytes)
}

func dial(target string) (net.Conn, error) {
	if strings.HasPrefix(target, "/") {
		return net.Dial("unix", target)
	}
	return net.Dial("tcp", target)
}

func pass(client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	server, err := dial(target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	chunks := make(chan chunk, 1024)
	var heard atomic.Bool
	heard.Store(true)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 64<<10)
			n, err := client.Read(buffer)
			if err != nil {
				return
			}
			if heard.Swap(false) {
				trips.Add(1)
			}
			chunks <- chunk{time.Now().Add(time.Duration(delay.Load())), buffer[:n]}
		}
	}()
	go func() {
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			_, _ = server.Write(c.bytes)
		}
		_ = server.Close()
	}()
	_, _ = io.Copy(hearing{client, &heard}, server)
}

func control(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		wait, err := time.ParseDuration(lines.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		delay.Store(int64(wait))
		_, _ = fmt.Fprintln(conn, trips.Load())
	}
}

func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(conn)
	}
}

func run(target string) error {
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	fmt.Println(listeners[0].Addr().(*net.TCPAddr).Port, listeners[1].Addr().(*net.TCPAddr).Port)
	go accept(listeners[1], control)
	accept(listeners[0], func(client net.Conn) { pass(client, target) })
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: temporal-delay SOCKET|HOST:PORT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
