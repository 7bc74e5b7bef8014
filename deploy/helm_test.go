package deploy_test

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/hub"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

// rendered are the objects of the chart, by kind and name.
type rendered map[string]any

// kinds are those that the chart may have, decoded strictly.
var kinds = map[string]func() any{
	"ServiceAccount": func() any { return new(corev1.ServiceAccount) }, "ConfigMap": func() any { return new(corev1.ConfigMap) },
	"Service": func() any { return new(corev1.Service) }, "PersistentVolumeClaim": func() any { return new(corev1.PersistentVolumeClaim) },
	"Role": func() any { return new(rbacv1.Role) }, "RoleBinding": func() any { return new(rbacv1.RoleBinding) },
	"Deployment": func() any { return new(appsv1.Deployment) },
}

// renderChart renders the chart as `helm template` does, and decodes all objects.
func renderChart(t *testing.T, name, values string) (rendered, error) {
	t.Helper()
	chart, err := loader.Load("helm/kalypso")
	if err != nil {
		t.Fatal(err)
	}
	if err := chart.Validate(); err != nil {
		t.Fatal(err)
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	top, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: name, Namespace: "fleet", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, top)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(file, _ string) bool { return path.Base(file) == "NOTES.txt" })
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil || len(hooks) > 0 {
		return nil, errors.Join(err, errors.New("hooks"))
	}
	all := rendered{}
	for _, m := range manifests {
		make, ok := kinds[m.Head.Kind]
		if !ok {
			t.Fatalf("%s has a %s, which nothing here looks at", m.Name, m.Head.Kind)
		}
		object := make()
		if err := yaml.UnmarshalStrict([]byte(m.Content), object); err != nil {
			t.Fatalf("%s: %v\n%s", m.Name, err, m.Content)
		}
		all[m.Head.Kind+"/"+m.Head.Metadata.Name] = object
	}
	return all, nil
}

func get[T any](t *testing.T, all rendered, name string) T {
	t.Helper()
	object, ok := all[name].(T)
	if !ok {
		t.Fatalf("there is no %s among %v", name, slices.Sorted(maps.Keys(all)))
	}
	return object
}

const schedulerValues = `
scheduler:
  config:
    forge: {type: github, app: {id: 1, installation: 2, keyFile: /etc/kalypso/secrets/app.pem}}
    controlPlane: {repo: "https://github.com/acme/control-plane", branch: main}
`

const hubValues = schedulerValues + `
hub:
  enabled: true
  secret: fleet
  config:
    publicURL: https://hub.example.com
    observe: [{kubeconfig: /etc/kalypso/hub-secrets/fleet.kubeconfig}]
`

// filesOf are the files that a pod's only container has, with the content of those
// that are in ConfigMaps. The keys of Secrets are not known.
func filesOf(t *testing.T, all rendered, pod corev1.PodSpec) (files map[string]string, folders []string) {
	t.Helper()
	files = map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		v := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })]
		switch {
		case v.ConfigMap != nil:
			files[m.MountPath] = get[*corev1.ConfigMap](t, all, "ConfigMap/"+v.ConfigMap.Name).Data[m.SubPath]
		case v.Secret != nil && *v.Secret.DefaultMode != 0o440:
			t.Errorf("mode %o of %s", *v.Secret.DefaultMode, m.MountPath)
		default:
			folders = append(folders, m.MountPath)
		}
	}
	return files, folders
}

// checkPod holds a Deployment, its Service and its account to each other.
func checkPod(t *testing.T, all rendered, name string) corev1.PodSpec {
	t.Helper()
	d := get[*appsv1.Deployment](t, all, "Deployment/"+name)
	s := get[*corev1.Service](t, all, "Service/"+name)
	pod := d.Spec.Template
	for _, selector := range []map[string]string{d.Spec.Selector.MatchLabels, s.Spec.Selector} {
		for key, value := range selector {
			if leader := key == controller.LeaderLabel && value == "true"; pod.Labels[key] != value && !leader {
				t.Errorf("%s: label %s is %q, %q is selected", name, key, pod.Labels[key], value)
			}
		}
	}
	c := pod.Spec.Containers[0]
	if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == s.Spec.Ports[0].TargetPort.StrVal }) {
		t.Errorf("%s: the Service leads to port %s", name, s.Spec.Ports[0].TargetPort.StrVal)
	}
	get[*corev1.ServiceAccount](t, all, "ServiceAccount/"+pod.Spec.ServiceAccountName)
	if !*pod.Spec.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("%s has rights: %+v %+v", name, pod.Spec.SecurityContext, c.SecurityContext)
	}
	return pod.Spec
}

func TestChartScheduler(t *testing.T) {
	for replicas, want := range map[string]bool{"1": false, "2": true} {
		all, err := renderChart(t, "kalypso", schedulerValues+"  replicas: "+replicas+"\n")
		if err != nil {
			t.Fatal(err)
		}
		const name = "kalypso-scheduler"
		pod := checkPod(t, all, name)
		files, folders := filesOf(t, all, pod)
		file := pod.Containers[0].Args[slices.Index(pod.Containers[0].Args, "--config")+1]
		config, err := controller.ParseConfig(file, []byte(files[file]))
		if err != nil {
			t.Fatalf("%v\n%s", err, files[file])
		}
		for _, secret := range []string{config.Forge.App.KeyFile, config.WebhookSecretFile} {
			if !slices.Contains(folders, path.Dir(secret)) {
				t.Errorf("%s is not mounted", secret)
			}
		}
		if _, listens, _ := strings.Cut(config.Listen, ":"); listens != "8765" || pod.Containers[0].Ports[0].ContainerPort != 8765 {
			t.Errorf("it listens at %s", config.Listen)
		}
		_, selects := get[*corev1.Service](t, all, "Service/"+name).Spec.Selector[controller.LeaderLabel]
		if elects := config.LeaderElection != nil; elects != want || selects != want || *pod.AutomountServiceAccountToken != want {
			t.Errorf("%s replicas: election %v, the Service selects the leader %v", replicas, elects, selects)
		}
		if !want {
			continue
		}
		role := get[*rbacv1.Role](t, all, "Role/"+name)
		plain := manifest[rbacv1.Role](t, "role.yaml", "Role")
		plain.Rules[1].ResourceNames = []string{config.LeaderElection.Lease}
		if !slices.EqualFunc(role.Rules, plain.Rules, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
			t.Errorf("rights %v, those of deploy/kubernetes are %v", role.Rules, plain.Rules)
		}
	}
}

func TestChartHub(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		want   hub.StoreConfig
		claims bool
	}{
		"SQLite":     {values: "", want: hub.StoreConfig{SQLite: "/var/lib/kalypso/hub.db"}, claims: true},
		"PostgreSQL": {values: "  replicas: 2\n  database: {secret: hub-database}\n  metrics: true\n", want: hub.StoreConfig{PostgresEnv: "KALYPSO_HUB_DATABASE"}},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := renderChart(t, "acme", hubValues+c.values)
			if err != nil {
				t.Fatal(err)
			}
			pod := checkPod(t, all, "acme-kalypso-hub")
			files, folders := filesOf(t, all, pod)
			container := pod.Containers[0]
			file := container.Args[slices.Index(container.Args, "--config")+1]
			config, err := hub.ParseConfig(file, []byte(files[file]))
			if err != nil {
				t.Fatalf("%v\n%s", err, files[file])
			}
			if _, err := controller.ParseConfig(config.Scheduler.Config, []byte(files[config.Scheduler.Config])); err != nil {
				t.Error(err)
			}
			if config.Store != c.want {
				t.Errorf("store %+v", config.Store)
			}
			for _, one := range []string{config.Observe[0].Kubeconfig, config.Mirrors, "/etc/kalypso/secrets/webhook-secret"} {
				if !slices.Contains(folders, path.Dir(one)) {
					t.Errorf("%s is on no volume of %v", one, folders)
				}
			}
			inEnv := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
				return e.Name == config.Store.PostgresEnv && e.ValueFrom.SecretKeyRef.Name == "hub-database"
			})
			if _, claims := all["PersistentVolumeClaim/acme-kalypso-hub"]; claims != c.claims || inEnv == c.claims {
				t.Errorf("volume %v, URL of the database %v", claims, inEnv)
			}
			if config.Scheduler.URL != "http://acme-kalypso-scheduler.fleet.svc" {
				t.Errorf("the scheduler is asked at %s", config.Scheduler.URL)
			}
			get[*corev1.Service](t, all, "Service/acme-kalypso-scheduler")
		})
	}
}

func TestChartRefuses(t *testing.T) {
	for name, values := range map[string]string{
		"no configuration":            "",
		"no control plane":            "scheduler: {config: {forge: {type: github}}}",
		"what the chart sets":         strings.Replace(schedulerValues, "config:", "config:\n    listen: 127.0.0.1:1", 1),
		"an unknown value":            schedulerValues + "  nope: 1\n",
		"no replica":                  schedulerValues + "  replicas: 0\n",
		"a digest that is none":       schedulerValues + "image: {digest: latest}\n",
		"a hub that observes nothing": schedulerValues + "hub: {enabled: true, config: {publicURL: \"https://hub.example.com\"}}\n",
		"two hubs on one SQLite file": hubValues + "  replicas: 2\n",
		"a hub alone":                 strings.Replace(hubValues, "scheduler:", "scheduler:\n  enabled: false", 1),
	} {
		if all, err := renderChart(t, "kalypso", values); err == nil {
			t.Errorf("%s: made %v", name, slices.Sorted(maps.Keys(all)))
		}
	}
	if _, err := renderChart(t, "kalypso", hubValues); err != nil {
		t.Errorf("what the refused are made of is refused: %v", err)
	}
}

func TestChartImage(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for values, want := range map[string]string{
		"": "ghcr.io/kalypso-dev/kalypso-server:0.0.0",
		"image: {repository: registry.example.com/k, tag: v1}\n":         "registry.example.com/k:v1",
		"image: {tag: v1, digest: \"" + digest + "\"}\n":                 "ghcr.io/kalypso-dev/kalypso-server@" + digest,
		"imagePullSecrets: [{name: pull}]\nnodeSelector: {disk: ssd}\n":  "ghcr.io/kalypso-dev/kalypso-server:0.0.0",
		"tolerations: [{key: a, operator: Exists}]\naffinity: {}\n":      "ghcr.io/kalypso-dev/kalypso-server:0.0.0",
		"affinity: {podAntiAffinity: {}}\nimage: {pullPolicy: Always}\n": "ghcr.io/kalypso-dev/kalypso-server:0.0.0",
	} {
		all, err := renderChart(t, "kalypso", schedulerValues+values)
		if err != nil {
			t.Fatalf("%q: %v", values, err)
		}
		if got := checkPod(t, all, "kalypso-scheduler").Containers[0].Image; got != want {
			t.Errorf("%q: image %s, want %s", values, got, want)
		}
	}
}
