package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	appclientset "github.com/argoproj/argo-cd/v3/pkg/client/clientset/versioned"
	"github.com/argoproj/argo-cd/v3/util/argo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	upLimit = time.Minute
	upPoll  = 100 * time.Millisecond
)

// refreshWhenUp is refreshAll as soon as the API server answers: by then the
// controller, which was started before it, has read what there is.
func refreshWhenUp(ctx context.Context, health string, apps appclientset.Interface) error {
	// no proxy stands between a process and itself
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err := wait.PollUntilContextTimeout(ctx, upPoll, upLimit, true, func(ctx context.Context) (bool, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, health, nil)
		if err != nil {
			return false, err
		}
		answer, err := direct.Do(r)
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", health, err)
	}
	return refreshAll(ctx, apps)
}

// refreshAll has every application compared at once instead of when it is due.
// That finds what was pushed while Argo CD was down. It also takes back what
// the controller says too early: of an application that it reads before the
// application's project, it says that there is no such project.
func refreshAll(ctx context.Context, apps appclientset.Interface) error {
	applications := apps.ArgoprojV1alpha1().Applications(namespace)
	list, err := applications.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the applications: %w", err)
	}
	var failed []error
	for _, a := range list.Items {
		if _, err := argo.RefreshApp(applications, a.Name, v1alpha1.RefreshTypeNormal, false); err != nil {
			failed = append(failed, fmt.Errorf("refresh application %s: %w", a.Name, err))
		}
	}
	return errors.Join(failed...)
}
