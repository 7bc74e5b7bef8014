// Package deploy_test holds the files of this folder to what the scheduler and
// the systems that run it take.
package deploy_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/scheduler/ci"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// manifest decodes one object, and refuses fields that its kind does not have.
func manifest[T any](t *testing.T, file, kind string) T {
	t.Helper()
	var object T
	var head struct{ Kind string }
	data := read(t, filepath.Join("kubernetes", file))
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := yaml.Unmarshal(data, &head); err != nil || head.Kind != kind {
		t.Errorf("%s: kind %q, %v", file, head.Kind, err)
	}
	return object
}

func TestKubernetes(t *testing.T) {
	account := manifest[corev1.ServiceAccount](t, "serviceaccount.yaml", "ServiceAccount")
	configMap := manifest[corev1.ConfigMap](t, "configmap.yaml", "ConfigMap")
	role := manifest[rbacv1.Role](t, "role.yaml", "Role")
	binding := manifest[rbacv1.RoleBinding](t, "rolebinding.yaml", "RoleBinding")
	service := manifest[corev1.Service](t, "service.yaml", "Service")
	deployment := manifest[appsv1.Deployment](t, "deployment.yaml", "Deployment")
	pod := deployment.Spec.Template
	c := pod.Spec.Containers[0]
	if all, _ := filepath.Glob("kubernetes/*"); len(all) != 6 {
		t.Errorf("there are files that nothing here looks at: %v", all)
	}

	t.Log("they belong together")
	if pod.Spec.ServiceAccountName != account.Name || service.Spec.Ports[0].TargetPort.StrVal != c.Ports[0].Name {
		t.Errorf("account %s, port %s", pod.Spec.ServiceAccountName, service.Spec.Ports[0].TargetPort.String())
	}
	for _, selector := range []map[string]string{deployment.Spec.Selector.MatchLabels, service.Spec.Selector} {
		for key, value := range selector {
			if leader := key == controller.LeaderLabel && value == "true"; pod.Labels[key] != value && !leader {
				t.Errorf("label %s: %q, %q is selected", key, pod.Labels[key], value)
			}
		}
	}
	if service.Spec.Selector[controller.LeaderLabel] != "true" || !*pod.Spec.AutomountServiceAccountToken ||
		!slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "POD_NAME" && e.ValueFrom.FieldRef.FieldPath == "metadata.name"
		}) {
		t.Error("webhooks do not find the leader")
	}

	t.Log("the configuration, and every file that it names")
	file := c.Args[slices.Index(c.Args, "--config")+1]
	config, err := controller.ParseConfig("configmap.yaml", []byte(configMap.Data[path.Base(file)]))
	if err != nil {
		t.Fatal(err)
	}
	election := config.LeaderElection
	if election == nil || *deployment.Spec.Replicas != 2 {
		t.Fatalf("%d replicas, election %+v", *deployment.Spec.Replicas, election)
	}
	rights := map[string]bool{}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, election.Lease) {
				rights[verb+" "+rule.Resources[0]+"."+rule.APIGroups[0]] = true
			}
		}
	}
	for _, right := range []string{"get leases.coordination.k8s.io", "create leases.coordination.k8s.io", "update leases.coordination.k8s.io", "patch pods."} {
		if !rights[right] {
			t.Errorf("the account may not %s", right)
		}
	}
	if len(rights) != 4 || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != account.Name {
		t.Errorf("rights %v, bound %+v", rights, binding)
	}
	there := map[string]bool{}
	for _, m := range c.VolumeMounts {
		v := pod.Spec.Volumes[slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })]
		switch {
		case v.ConfigMap != nil && v.ConfigMap.Name == configMap.Name:
			there[m.MountPath] = configMap.Data[m.SubPath] != ""
		case v.Secret != nil:
			if *v.Secret.DefaultMode != 0o440 {
				t.Errorf("mode %o of the secrets", *v.Secret.DefaultMode)
			}
			for _, item := range v.Secret.Items {
				there[path.Join(m.MountPath, item.Path)] = true
			}
		}
	}
	for _, name := range []string{file, config.Forge.App.KeyFile, config.WebhookSecretFile} {
		if !there[name] {
			t.Errorf("%s is not mounted", name)
		}
	}
	if !strings.HasSuffix(config.Listen, ":8765") || c.Ports[0].ContainerPort != 8765 || pod.Annotations["prometheus.io/port"] != "8765" {
		t.Errorf("it listens at %s", config.Listen)
	}

	t.Log("the probes ask what is answered")
	handler := controller.NewServer(controller.ServerOptions{Metrics: controller.NewMetrics()}).Handler()
	for _, p := range []string{c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, "/metrics"} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, p, nil))
		if answer.Code != http.StatusOK {
			t.Errorf("%s answers %d", p, answer.Code)
		}
	}
}

func TestContainer(t *testing.T) {
	recipe, err := ci.ParseDockerfile("Dockerfile", read(t, "container/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	deployment := manifest[appsv1.Deployment](t, "deployment.yaml", "Deployment")
	if recipe.From != "scratch" || !slices.Equal(recipe.Command, deployment.Spec.Template.Spec.Containers[0].Args) {
		t.Errorf("%+v", recipe)
	}
	ignored := string(read(t, "container/.gitignore"))
	instructions := string(read(t, "README.md"))
	for _, c := range recipe.Copies {
		for _, source := range c.Sources {
			if !strings.Contains(ignored, source+"\n") || !strings.Contains(instructions, source) {
				t.Errorf("%s: nothing tells where it comes from", source)
			}
		}
	}
}

// settings are those of a unit's section.
func settings(t *testing.T, section string) map[string][]string {
	t.Helper()
	found, in := map[string][]string{}, ""
	for line := range strings.Lines(string(read(t, "systemd/kalypso-scheduler.service"))) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			in = strings.Trim(line, "[]")
		case ok && in == section && !strings.HasPrefix(line, "#"):
			found[key] = append(found[key], value)
		}
	}
	return found
}

func TestSystemd(t *testing.T) {
	service := settings(t, "Service")
	config, err := controller.ParseConfig("scheduler.yaml", read(t, "systemd/scheduler.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	credentials := map[string]bool{}
	for _, c := range service["LoadCredential"] {
		name, _, _ := strings.Cut(c, ":")
		credentials["/run/credentials/kalypso-scheduler.service/"+name] = true
	}
	for _, name := range []string{config.Forge.App.KeyFile, config.WebhookSecretFile} {
		if !credentials[name] {
			t.Errorf("%s is no credential of the unit", name)
		}
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze to verify the unit with")
	}
	// verify wants the program to be there
	program := strings.Fields(service["ExecStart"][0])[0]
	unit := filepath.Join(t.TempDir(), "kalypso-scheduler.service")
	here, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(read(t, "systemd/kalypso-scheduler.service")), program, here)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), unit) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
