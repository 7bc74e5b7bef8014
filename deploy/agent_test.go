package deploy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kalypso-dev/kalypso/scheduler/fleet/argocd"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/flux"
)

// The agent may read what it reads, and nothing else.
func TestAgent(t *testing.T) {
	account := manifest[corev1.ServiceAccount](t, "../agent/serviceaccount.yaml", "ServiceAccount")
	role := manifest[rbacv1.ClusterRole](t, "../agent/clusterrole.yaml", "ClusterRole")
	binding := manifest[rbacv1.ClusterRoleBinding](t, "../agent/clusterrolebinding.yaml", "ClusterRoleBinding")
	deployment := manifest[appsv1.Deployment](t, "../agent/deployment.yaml", "Deployment")
	if all, _ := filepath.Glob("agent/*"); len(all) != 4 {
		t.Errorf("there are files that nothing here looks at: %v", all)
	}
	pod := deployment.Spec.Template
	if binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != account.Name || binding.Subjects[0].Namespace != account.Namespace ||
		pod.Spec.ServiceAccountName != account.Name || deployment.Namespace != account.Namespace {
		t.Errorf("they do not belong together: %+v, %+v", binding, pod.Spec.ServiceAccountName)
	}
	read := map[string]bool{}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("it may %s %v", verb, rule.Resources)
			}
		}
		for _, resource := range rule.Resources {
			read[resource+"."+rule.APIGroups[0]] = slices.Contains(rule.Verbs, "list")
		}
	}
	for _, kind := range []string{flux.Repositories.GroupResource().String(), flux.Kustomizations.GroupResource().String(), argocd.Applications.GroupResource().String()} {
		if !read[kind] {
			t.Errorf("it may not list %s", kind)
		}
		delete(read, kind)
	}
	if len(read) > 0 {
		t.Errorf("it may read %v, too", read)
	}
	c := pod.Spec.Containers[0]
	if c.Args[0] != "hub" || c.Args[1] != "agent" {
		t.Errorf("arguments %v", c.Args)
	}
	if file := c.Args[slices.Index(c.Args, "--token-file")+1]; !strings.HasPrefix(file, c.VolumeMounts[0].MountPath+"/") || c.VolumeMounts[0].SubPath != "" {
		t.Errorf("the token at %s does not come from %+v", file, c.VolumeMounts[0])
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Error("it may more than it needs")
	}
}
