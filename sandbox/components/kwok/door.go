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

// listen opens the door. A socket of an earlier run is replaced.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// refuse answers every request of the API server for a connection with the
// reason why there is none. It passes the words on to whoever asked: for logs,
// for a command in a pod, for a port of it. Without a door the API server would
// dial the addresses that pods are said to have, and leave the machine.
func refuse(door net.Listener, node string) error {
	for {
		c, err := door.Accept()
		if err != nil {
			return err
		}
		go answer(c, node)
	}
}

// The reason travels in the status line: of the rest the API server tells
// nothing.
func answer(c net.Conn, node string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(questionLimit))
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	fmt.Fprintf(c, "HTTP/1.1 %d node %s is simulated: pods do not really run, so there are no logs, no exec and no ports\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		http.StatusServiceUnavailable, node)
}
