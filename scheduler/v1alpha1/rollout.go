package v1alpha1

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a container may have no time zones of its own

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutSpec brings what is merged for a cluster type to its clusters in waves, one
// after the other. Kalypso Scheduler has no such kind: without one, a merge reaches all
// clusters of a type at once.
type RolloutSpec struct {
	ClusterType string          `json:"clusterType"`
	Waves       []RolloutWave   `json:"waves"`
	MaxFailures Amount          `json:"maxFailures,omitempty,omitzero"` // of a wave's clusters; none when it is left out
	Windows     []RolloutWindow `json:"windows,omitempty"`              // in which a wave may begin; always without any
}

// RolloutWave holds a number or a share of the type's clusters, or those that a
// selector matches. One with neither holds all that are in no other wave.
type RolloutWave struct {
	Name     string               `json:"name"`
	Clusters Amount               `json:"clusters,omitempty,omitzero"`
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"` // of the labels that the fleet reports
	Soak     Duration             `json:"soak,omitempty"`              // how long the wave has to be well before the next one begins
}

// Rest says that the wave holds the clusters that are in no other.
func (w RolloutWave) Rest() bool {
	all := w.Clusters.Percent && w.Clusters.Number == 100
	return (!w.Clusters.Given || all) && !w.Selects()
}

// Selects says that the wave holds what its selector matches.
func (w RolloutWave) Selects() bool {
	return len(w.Selector.MatchLabels)+len(w.Selector.MatchExpressions) > 0
}

// RolloutWindow is a time of the week. One that ends before it begins ends on the day
// after.
type RolloutWindow struct {
	Days     []Weekday `json:"days,omitempty"` // on which it begins; all when empty
	From     TimeOfDay `json:"from"`
	To       TimeOfDay `json:"to"`
	TimeZone TimeZone  `json:"timeZone,omitempty"` // UTC when empty
}

// Amount is a number of clusters, or a share of them in percent.
type Amount struct {
	Number  int
	Percent bool
	Given   bool
}

// UnmarshalYAML reads 3, "3" and 10%. The error says what is wrong with anything else.
func (a *Amount) UnmarshalYAML(node *yaml.Node) error {
	text, percent := strings.CutSuffix(node.Value, "%")
	n, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case node.Kind != yaml.ScalarNode || err != nil:
		return fmt.Errorf("%q is no number of clusters: write one as in 3, or a share as in 10%%", node.Value)
	case n < 0:
		return fmt.Errorf("%s is negative", node.Value)
	case percent && n > 100:
		return fmt.Errorf("%s is more than all clusters", node.Value)
	}
	*a = Amount{n, percent, true}
	return nil
}

// String writes an amount as it is read.
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.Number) + "%"
	}
	return strconv.Itoa(a.Number)
}

// MarshalJSON writes an amount as it is read.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.Percent {
		return json.Marshal(a.String())
	}
	return json.Marshal(a.Number)
}

// IsZero says that none is given.
func (a Amount) IsZero() bool { return !a.Given }

// Duration is a time as in 90s, 30m or 48h.
type Duration time.Duration

// UnmarshalYAML refuses what is negative or has no unit.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	value, err := time.ParseDuration(node.Value)
	switch {
	case node.Kind != yaml.ScalarNode || err != nil:
		return fmt.Errorf("%q is no time: write one as in 90s, 30m or 48h", node.Value)
	case value < 0:
		return fmt.Errorf("%s is negative", node.Value)
	}
	*d = Duration(value)
	return nil
}

// String writes a time without units of nothing: 2h, and not 2h0m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalJSON writes a time as it is read.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// Weekdays are the days of a week, beginning with that of [time.Sunday].
func Weekdays() []Weekday { return []Weekday{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} }

// Weekday is a day by the first three letters of its English name.
type Weekday string

// UnmarshalYAML refuses what is no day.
func (w *Weekday) UnmarshalYAML(node *yaml.Node) error {
	all := Weekdays()
	i := slices.IndexFunc(all, func(day Weekday) bool { return strings.EqualFold(string(day), node.Value) })
	if i < 0 {
		return fmt.Errorf("%q is no day: write one of %s", node.Value, strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ", "))
	}
	*w = all[i]
	return nil
}

// TimeOfDay is hours and minutes, as in 09:30; 24:00 is the end of a day.
type TimeOfDay string

// UnmarshalYAML refuses what is no time of a day.
func (t *TimeOfDay) UnmarshalYAML(node *yaml.Node) error {
	if *t = TimeOfDay(node.Value); t.Minutes() < 0 {
		return fmt.Errorf("%q is no time of a day: write one as in \"09:30\"", node.Value)
	}
	return nil
}

// Minutes are those since midnight, -1 for what is no time of a day.
func (t TimeOfDay) Minutes() int {
	if t == "24:00" {
		return 24 * 60
	}
	at, err := time.Parse("15:04", string(t))
	if err != nil {
		return -1
	}
	return at.Hour()*60 + at.Minute()
}

// TimeZone is the name of one in the IANA's database, as in Europe/Berlin.
type TimeZone string

// UnmarshalYAML refuses one that is not there. "Local" would be another one on each
// machine.
func (z *TimeZone) UnmarshalYAML(node *yaml.Node) error {
	if _, err := time.LoadLocation(node.Value); err != nil || node.Value == "Local" {
		return fmt.Errorf("there is no time zone %q: write one as in Europe/Berlin, or UTC", node.Value)
	}
	*z = TimeZone(node.Value)
	return nil
}
