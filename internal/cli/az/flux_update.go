package az

import (
	"context"
	"maps"
	"strings"

	"github.com/spf13/cobra"
)

func fluxUpdate(a *command) *cobra.Command {
	c := &cobra.Command{Use: "update", Short: "Change a configuration; what is not given stays"}
	var t target
	var s sourceFlags
	t.addTo(c, true)
	s.addTo(c)
	return leaf(a, c, fluxColumns, func(ctx context.Context, z *call) (any, error) {
		cluster, err := t.of()
		if err != nil {
			return nil, err
		}
		changes, err := s.changes(z, c.Flags().Changed)
		if err != nil {
			return nil, err
		}
		changed, err := z.client.Patch(ctx, cluster, t.name, changes, !s.noWait)
		if err != nil || s.noWait {
			return nil, err
		}
		return flat(changed)
	})
}

// changes are the properties that the flags name, as the service takes them in
// a merge.
func (s *sourceFlags) changes(z *call, given func(flag string) bool) (map[string]any, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	all, source := map[string]any{}, map[string]any{}
	g, err := s.repository(z)
	if err != nil {
		return nil, err
	}
	for flag, set := range map[string]func(){
		"url":            func() { source["url"] = g.URL },
		"interval":       func() { source["syncIntervalInSeconds"] = g.SyncIntervalInSeconds },
		"timeout":        func() { source["timeoutInSeconds"] = g.TimeoutInSeconds },
		"https-user":     func() { source["httpsUser"] = s.httpsUser },
		"local-auth-ref": func() { source["localAuthRef"] = s.localAuthRef },
		"suspend":        func() { all["suspend"] = s.suspend },
		"https-key":      func() { all["configurationProtectedSettings"] = s.protected() },
	} {
		if given(flag) {
			set()
		}
	}
	if given("branch") || given("tag") || given("semver") || given("commit") {
		// one takes the place of the other
		source["repositoryRef"] = g.RepositoryRef
	}
	if len(source) > 0 {
		all["gitRepository"] = source
	}
	kustomizations := map[string]any{}
	for _, text := range s.kustomizations {
		words := strings.Split(text, separator)
		k, err := kustomization(words)
		if err != nil {
			return nil, err
		}
		one, err := plainJSON(k)
		if err != nil {
			return nil, err
		}
		fields, _ := one.(map[string]any)
		maps.DeleteFunc(fields, func(field string, _ any) bool { return !setsProperty(words, field) })
		kustomizations[k.Name] = fields
	}
	if len(kustomizations) > 0 {
		all["kustomizations"] = kustomizations
	}
	return all, nil
}
