package collect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

const (
	statusLimit = 10 * time.Second
	// maxStatus is enough for some ten thousand environments.
	maxStatus = 64 << 20
)

// schedulerSource asks the scheduler how it does.
type schedulerSource struct {
	source      *source
	url, secret string

	mu           sync.Mutex // for what follows
	environments map[string]controller.EnvironmentStatus
	err          error // of the last look
}

func (s *schedulerSource) look(ctx context.Context) error {
	all, err := s.ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err != nil {
		return err
	}
	s.environments = map[string]controller.EnvironmentStatus{}
	for _, one := range all {
		for _, e := range one.Environments {
			s.environments[e.Name] = e
		}
	}
	return nil
}

// ask returns the statuses of the control planes.
func (s *schedulerSource) ask(ctx context.Context) ([]controller.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, statusLimit, fmt.Errorf("the scheduler does not answer within %s", statusLimit))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, "/")+"/status", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.secret)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/status: http status %d: %.200s", s.url, response.StatusCode, strings.TrimSpace(string(body)))
	}
	return controller.ParseStatus(body)
}

// of is the scheduler's status of an environment; nil where nothing is known now.
func (s *schedulerSource) of(environment string) *controller.EnvironmentStatus {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.environments[environment]; ok && s.err == nil {
		return &e
	}
	return nil
}
