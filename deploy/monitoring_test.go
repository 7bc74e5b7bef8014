package deploy_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-dev/kalypso/hub/api"
	"github.com/kalypso-dev/kalypso/hub/collect"
	"github.com/kalypso-dev/kalypso/hub/store"
	"github.com/kalypso-dev/kalypso/internal/testkit/postgrestest"
	"github.com/kalypso-dev/kalypso/scheduler/controller"
)

var (
	described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	named     = regexp.MustCompile(`\b((?:kalypso|process|go|promhttp)_[a-z0-9_]+)\b(?:\{([^}]*)\})?`)
	compared  = regexp.MustCompile(`([a-zA-Z_]+)\s*(?:=~|!~|!=|=)`)
	suffix    = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// metricLabels are the labels of every metric that the hub has.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{SQLite: filepath.Join(t.TempDir(), "hub.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	registry := prometheus.NewRegistry()
	registry.MustRegister(s, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	t.Setenv("FORGE_TOKEN", "x")
	config, err := controller.ParseConfig("scheduler.yaml", []byte("forge: {type: gitea, url: 'http://127.0.0.1:1', tokenEnv: FORGE_TOKEN}\ncontrolPlane: {repo: 'http://127.0.0.1:1/o/c'}\nwebhookSecret: s\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect.New(collect.Options{Store: s, Scheduler: config, Registry: registry}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.New(api.Options{Store: s, Hosts: []string{"127.0.0.1"}, Registry: registry}); err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	out := make(chan *prometheus.Desc)
	go func() { registry.Describe(out); close(out) }()
	for d := range out {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("not understood: %s", d)
		}
		labels[m[1]] = append(strings.Split(m[2], ","), "job", "instance", "le")
	}
	return labels
}

// checkNames fails for a metric in an expression that nobody has, or that has no such label.
func checkNames(t *testing.T, file, expression string, metrics map[string][]string) {
	t.Helper()
	found := named.FindAllStringSubmatch(expression, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric is named in %s", file, expression)
	}
	for _, m := range found {
		labels, ok := metrics[m[1]]
		if !ok {
			labels, ok = metrics[suffix.ReplaceAllString(m[1], "")]
		}
		if !ok {
			t.Errorf("%s: there is no metric %s", file, m[1])
			continue
		}
		for _, label := range compared.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, label[1]) {
				t.Errorf("%s: %s has no label %s", file, m[1], label[1])
			}
		}
	}
}

// promtool runs Prometheus's own tool. Without it on the machine it skips the test, or fails it
// where KALYPSO_REQUIRE_PROMTOOL is set.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("KALYPSO_REQUIRE_PROMTOOL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestAlerts(t *testing.T) {
	const file = "prometheus/rules.yaml"
	var all struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict(read(t, file), &all); err != nil {
		t.Fatal(err)
	}
	metrics := metricLabels(t)
	tests := string(read(t, "prometheus/rules.test.yaml"))
	for _, g := range all.Groups {
		for _, r := range g.Rules {
			checkNames(t, file, r.Expr, metrics)
			if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: %+v", r.Alert, r)
			}
			if !strings.Contains(tests, r.Alert) {
				t.Errorf("no test is about %s", r.Alert)
			}
		}
	}
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", file)
	promtool(t, "test", "rules", "prometheus/rules.test.yaml")
}

// dashboard is of one what these tests look at.
type dashboard struct {
	ID            *int
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []struct {
		ID         *int
		Title      string
		Datasource struct{ Type, UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct{ RefID, Expr, RawSQL string }
	}
}

// dashboards are those of a folder by file. Each has a data source that the user chooses, and
// panels that do not lie on each other.
func dashboards(t *testing.T, folder, kind string) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("grafana", folder, "*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string]dashboard{}
	uids := map[string]bool{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal(read(t, file), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.ID != nil || d.Title == "" || d.UID == "" || uids[d.UID] || d.SchemaVersion < 39 {
			t.Errorf("%s: id %v, uid %q, title %q, schema version %d", file, d.ID, d.UID, d.Title, d.SchemaVersion)
		}
		uids[d.UID] = true
		if v := d.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" || v.Query != kind {
			t.Errorf("%s: its first variable is %+v", file, v)
		}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if p.ID != nil || p.Datasource.Type != kind || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("%s: %+v", file, p)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %s is at %d, %d, where %s is", file, p.Title, x, y, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
		all[file] = d
	}
	return all
}

// TestPrometheusDashboards: what they ask for is there, and Prometheus takes every expression.
func TestPrometheusDashboards(t *testing.T) {
	metrics := metricLabels(t)
	values := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1d", "$environment", "x")
	text := "groups:\n"
	for file, d := range dashboards(t, "", "prometheus") {
		text += fmt.Sprintf("  - name: %q\n    rules:\n", file)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				checkNames(t, file+": "+p.Title, target.Expr, metrics)
				text += fmt.Sprintf("      - {record: panel, labels: {title: %q, query: %q}, expr: %q}\n", p.Title, target.RefID, values.Replace(target.Expr))
			}
		}
	}
	if strings.Contains(text, "$") {
		t.Errorf("a variable is not known:\n%s", text)
	}
	file := filepath.Join(t.TempDir(), "expressions.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// TestPostgresDashboards runs every query on a database with the hub's schema.
func TestPostgresDashboards(t *testing.T) {
	address := postgrestest.Start(t).Database(t)
	s, err := store.Open(t.Context(), store.Options{Postgres: address})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	values := strings.NewReplacer("${environment:sqlstring}", "'dev','stage'", "${workload:sqlstring}", "'web'", "${cluster:sqlstring}", "'a'", "$__from", "1700000000000", "$__to", "1800000000000")
	run := func(where, query string) {
		t.Helper()
		if rows, err := db.QueryContext(t.Context(), values.Replace(query)); err != nil {
			t.Errorf("%s: %v\n%s", where, err, query)
		} else if err := rows.Close(); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	for file, d := range dashboards(t, "postgres", "grafana-postgresql-datasource") {
		for _, v := range d.Templating.List[1:] {
			run(file+": "+v.Name, v.Query.(string))
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				run(file+": "+p.Title, target.RawSQL)
			}
		}
	}
}
