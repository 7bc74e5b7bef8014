// Package loopback calls servers on this machine.
package loopback

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	limit   = 5 * time.Second
	maxBody = 32 << 20
)

// Client never goes through a proxy, whatever the environment says.
var Client = &http.Client{Timeout: limit, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}

// Call returns the body of an answer to a request without one, with a bearer
// token unless that is empty. An answer other than 200 is an error.
func Call(ctx context.Context, method, url, token string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return b, nil
}

// Answers returns nil when a page can be had.
func Answers(ctx context.Context, url string) error {
	_, err := Call(ctx, http.MethodGet, url, "")
	return err
}
