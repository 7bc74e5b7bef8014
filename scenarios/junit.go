package scenarios

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       string           `xml:"time,attr"`
	Timestamp  string           `xml:"timestamp,attr,omitempty"`
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	All []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitSkipped struct {
	Message string `xml:"message,attr,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results in the format that CI systems read: a suite for
// each scenario, a case for each step, and the measured times as properties.
func WriteJUnit(w io.Writer, results []Result) error {
	all := junitSuites{Name: "kalypso scenarios"}
	var took time.Duration
	for _, r := range results {
		suite := junitSuite{Name: r.Workshop + "/" + r.Name, Time: seconds(r.Took)}
		if !r.Began.IsZero() {
			suite.Timestamp = r.Began.Format("2006-01-02T15:04:05")
		}
		for _, m := range r.Measurements {
			if suite.Properties == nil {
				suite.Properties = &junitProperties{}
			}
			suite.Properties.All = append(suite.Properties.All, junitProperty{m.Name + " (seconds)", seconds(m.Took)})
		}
		for i, step := range r.Steps {
			c := junitCase{Class: r.Workshop + "." + r.Name, Name: fmt.Sprintf("%d %s", i+1, step.Title), Time: seconds(step.Took)}
			switch step.State {
			case Failed:
				c.Failure = &junitFailure{Message: step.Reason, Type: "check", Text: step.Output}
				if r.Dump != "" {
					c.Failure.Text += "\n\nMore of it is in " + r.Dump
				}
				suite.Failures++
			case Skipped:
				c.Skipped = &junitSkipped{}
				suite.Skipped++
			case Simulated: // the format has no word for it
				c.Skipped = &junitSkipped{Message: "simulated: " + step.Note}
				suite.Skipped++
			}
			suite.Cases = append(suite.Cases, c)
		}
		suite.Tests = len(suite.Cases)
		all.Suites = append(all.Suites, suite)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Skipped += suite.Skipped
		took += r.Took
	}
	all.Time = seconds(took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
