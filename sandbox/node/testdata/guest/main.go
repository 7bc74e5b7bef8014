// Command guest is the program of the test's pods. It serves its host's name,
// or does one thing that the test wants to see done inside of a pod.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 {
		out, err := do(os.Args[1], os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(out)
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		os.Exit(0)
	}()
	host, _ := os.Hostname()
	fmt.Println("guest serves on", host)
	fmt.Println(http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello from", host)
	})))
	os.Exit(1)
}

func do(what, with string) (string, error) {
	switch what {
	case "resolve":
		all, err := net.LookupHost(with)
		return strings.Join(all, " "), err
	case "get":
		r, err := (&http.Client{Timeout: 5 * time.Second}).Get(with)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return strings.TrimSpace(string(b)), err
	case "read":
		b, err := os.ReadFile(with)
		return strings.TrimSpace(string(b)), err
	}
	return "", fmt.Errorf("cannot %s", what)
}
