package validate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kalypso-dev/kalypso/internal/testkit/validatetest"
	"github.com/kalypso-dev/kalypso/internal/testkit/workshoptest"
	"github.com/kalypso-dev/kalypso/scheduler/model/modeltest"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
	"github.com/kalypso-dev/kalypso/scheduler/validate/report"
	"github.com/rogpeppe/go-internal/txtar"
)

// expectTutorial validates a tutorial's model and compares the findings, among
// which there must be no error.
func expectTutorial(t *testing.T, repos *modeltest.Repositories, controlPlane, file, section string) {
	t.Helper()
	in, err := validatetest.Input(repos, controlPlane)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Subjects) != 2 {
		t.Fatalf("%d environments", len(in.Subjects))
	}
	r := mustValidate(t, in)
	if r.Reaches(validate.Error) {
		t.Error("a tutorial has errors")
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expectSection(t, file, archive, section, report.Text(r, report.Style{}))
}

func TestHelloWorldTutorial(t *testing.T) {
	const file = "testdata/inputs/hello-world.txtar"
	dev, err := os.ReadFile("../plan/testdata/inputs/hello-world.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repos := modeltest.Parse(string(dev))
	stage, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := validatetest.Change(repos, stage, ""); err != nil {
		t.Fatal(err)
	}
	expectTutorial(t, repos, "control", file, "findings")
}

func TestBasicInferenceWorkshop(t *testing.T) {
	const file = "testdata/inputs/basic-inference.txtar"
	w := workshoptest.Load(t, "basic-inference", strings.TrimSuffix(modeltest.Forge, "/"))
	repos := modeltest.Parse("")
	for _, repo := range w.Repositories {
		for _, branch := range repo.Branches {
			for path, content := range branch.Files {
				repos.Write(repo.Name, branch.Name, path, content)
			}
		}
	}
	expectTutorial(t, repos, "kalypso-control-plane", file, "findings in the beginning")
	steps, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := validatetest.Change(repos, steps, ""); err != nil {
		t.Fatal(err)
	}
	expectTutorial(t, repos, "kalypso-control-plane", file, "findings in the end")
}
