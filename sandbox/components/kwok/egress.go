package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

const questionLimit = 5 * time.Second

// listen replaces a socket of an earlier run.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// refuse answers every request of the API server for a connection with the
// reason why there is none. It passes that on to the user who asked for logs,
// for a command in a pod, or for a port of it. Without a listener the API server would
// dial the addresses that pods are said to have, and leave the machine.
func refuse(listener net.Listener, node string) error {
	for {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(c, node)
	}
}

// The reason is in the status line: the API server passes nothing else on.
func answer(c net.Conn, node string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(questionLimit))
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	fmt.Fprintf(c, "HTTP/1.1 %d node %s is simulated: pods do not really run, so there are no logs, no exec and no ports\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		http.StatusServiceUnavailable, node)
}
