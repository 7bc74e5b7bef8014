// Package httpserver runs servers that end with a context.
package httpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ShutdownTime is how long open requests may take when a server stops.
const ShutdownTime = 5 * time.Second

// Certificate names the files of a certificate with its chain, and of its key, both in PEM.
type Certificate struct{ CertFile, KeyFile string }

// Run serves until ctx ends, and returns nil then; the listener is closed in any case. Requests
// that are open then have ShutdownTime, and it is an error when they take longer. With a
// certificate it serves TLS.
func Run(ctx context.Context, s *http.Server, listener net.Listener, certificate *Certificate) error {
	ended := make(chan error, 1)
	go func() {
		if certificate != nil {
			ended <- s.ServeTLS(listener, certificate.CertFile, certificate.KeyFile)
		} else {
			ended <- s.Serve(listener)
		}
	}()
	select {
	case err := <-ended:
		_ = listener.Close() // it is open where the certificate cannot be read
		return err
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTime)
	defer cancel()
	if err := s.Shutdown(deadline); err != nil {
		return fmt.Errorf("closing open requests: %w", err)
	}
	return nil
}
