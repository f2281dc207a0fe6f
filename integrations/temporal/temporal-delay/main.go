// temporal-delay passes connections on to a unix socket, and lets what a client sends wait: a round trip's
// time, as 'dsql local fault message-latency' does. Prints the port it listens on.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

type chunk struct {
	due   time.Time
	bytes []byte
}

func pass(client net.Conn, path string, delay time.Duration) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 64<<10)
			n, err := client.Read(buffer)
			if err != nil {
				return
			}
			chunks <- chunk{time.Now().Add(delay), buffer[:n]}
		}
	}()
	go func() {
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			_, _ = server.Write(c.bytes)
		}
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: temporal-delay SOCKET DURATION")
		os.Exit(2)
	}
	delay, err := time.ParseDuration(os.Args[2])
	if err == nil {
		var listener net.Listener
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			fmt.Println(listener.Addr().(*net.TCPAddr).Port)
			for {
				client, err := listener.Accept()
				if err != nil {
					break
				}
				go pass(client, os.Args[1], delay)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
