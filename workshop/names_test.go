package workshop

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExpandName(t *testing.T) {
	for name, want := range map[string][]string{
		"large":            {"large"},
		"store-{008..011}": {"store-008", "store-009", "store-010", "store-011"},
		"{1..2}-west":      {"1-west", "2-west"},
		"only-{7..7}":      {"only-7"},
	} {
		got, err := ExpandName(name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if all, err := ExpandName("store-{00000..09999}"); err != nil || len(all) != 10_000 || all[9999] != "store-09999" {
		t.Errorf("%d names, %v", len(all), err)
	}
}

func TestEntriesThatCannotBeExpanded(t *testing.T) {
	virtual := func(name string, v Virtual) Cluster { return Cluster{Name: name, Kind: VirtualCluster, Virtual: &v} }
	for name, c := range map[string]struct {
		entry Cluster
		field string
	}{
		"descending":               {virtual("s-{20..10}", Virtual{}), "name"},
		"different widths":         {virtual("s-{1..100}", Virtual{}), "name"},
		"too wide":                 {virtual("s-{00000..10000}", Virtual{}), "name"},
		"more than a number holds": {virtual("s-{00000000000000000000..99999999999999999999}", Virtual{}), "name"},
		"no end":                   {virtual("s-{1..}", Virtual{}), "name"},
		"two ranges":               {virtual("s-{1..2}-{1..2}", Virtual{}), "name"},
		"not closed":               {virtual("s-{1..2", Virtual{}), "name"},
		"letters":                  {virtual("s-{a..c}", Virtual{}), "name"},
		"empty":                    {virtual("", Virtual{}), "name"},
		"upper case":               {virtual("Store-{1..2}", Virtual{}), "name"},
		"a path":                   {virtual("../{1..2}", Virtual{}), "name"},
		"long":                     {virtual(strings.Repeat("a", 53)+"{1..2}", Virtual{}), "name"},
		"a range of real clusters": {Cluster{Name: "s-{1..1}"}, "name"},
		"a real one that fails":    {Cluster{Name: "large", Virtual: &Virtual{}}, "virtual"},
		"failing above 1":          {virtual("a", Virtual{Failing: 1.01}), "virtual.failing"},
		"failing below 0":          {virtual("a", Virtual{Failing: -0.1}), "virtual.failing"},
		"failing not a number":     {virtual("a", Virtual{Failing: math.NaN()}), "virtual.failing"},
		"offline above 1":          {virtual("a", Virtual{Offline: 20, OfflineFor: time.Minute}), "virtual.offline"},
		"offline for no time":      {virtual("a", Virtual{Offline: 0.5}), "virtual.offline"},
		"offline for less":         {virtual("a", Virtual{OfflineFor: -1}), "virtual.offlineFor"},
		"negative delay":           {virtual("a", Virtual{Delay: -time.Second}), "virtual.delay"},
	} {
		t.Run(name, func(t *testing.T) {
			var wrong *FieldError
			all, err := c.entry.Expand()
			if !errors.As(err, &wrong) || strings.Join(wrong.Path, ".") != c.field || wrong.Reason == "" || all != nil {
				t.Errorf("%v %v", err, all)
			}
		})
	}
}

func TestExpandKeepsOrderAndRefusesNamesTwice(t *testing.T) {
	entries := []Cluster{
		{Name: "large"},
		{Name: "store-{08..10}", Type: "small", Kind: VirtualCluster, Virtual: &Virtual{Seed: 7, Failing: 1}},
		{Name: "drone"},
	}
	all, err := Expand(entries)
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"large", "store-08", "store-09", "store-10", "drone"}, names); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if c := all[3]; c.Type != "small" || c.Virtual.Seed != 7 {
		t.Errorf("%+v", c)
	}
	var wrong *FieldError
	_, err = Expand(append(entries, Cluster{Name: "store-09"}))
	if !errors.As(err, &wrong) || strings.Join(wrong.Path, ".") != "clusters.3.name" {
		t.Errorf("%v", err)
	}
	entries[1].Virtual.Failing = 2
	if _, err = Expand(entries); !errors.As(err, &wrong) || strings.Join(wrong.Path, ".") != "clusters.1.virtual.failing" {
		t.Errorf("%v", err)
	}
}
