package report

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/validate"
)

// fingerprintName names our fingerprint and the way in which it is made.
const fingerprintName = "kalypsoFinding/v1"

// SARIF writes a report in the Static Analysis Results Interchange Format,
// version 2.1.0, which GitHub's code scanning reads.
//
// Paths are relative to the root of their repository. Which repository and
// branch that is says the base of the path, "repository@branch", and for those
// who look at the message alone its last line.
func SARIF(r validate.Report, program Program) ([]byte, error) {
	w := &sarifWriter{bases: map[model.Position]string{}}
	driver := sarifDriver{Name: "kalypso", SemanticVersion: program.Version, InformationURI: program.URL}
	index := map[string]int{}
	for i, rule := range validate.Rules() {
		index[rule.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID:                   rule.ID,
			Name:                 pascal(rule.ID),
			ShortDescription:     sarifText{Text: rule.Summary},
			FullDescription:      sarifText{Text: rule.Summary + " " + rule.Help},
			Help:                 sarifText{Text: rule.Help, Markdown: rule.Help},
			DefaultConfiguration: sarifConfiguration{Level: string(rule.Severity)},
			Properties:           sarifProperties{Tags: []string{"kalypso", "platform"}},
		})
	}
	run := sarifRun{Tool: sarifTool{Driver: driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, f := range r.Findings {
		result := w.result(f)
		result.RuleIndex = index[f.Rule]
		run.Results = append(run.Results, result)
	}
	run.OriginalURIBaseIDs, run.VersionControlProvenance = w.branches()
	return encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// Program is what made a report.
type Program struct {
	Version string // a semantic version, or ""
	URL     string
}

// sarifWriter gives a name to every branch that has findings.
type sarifWriter struct {
	bases map[model.Position]string // by repository and branch
	order []model.Position
}

func (w *sarifWriter) result(f validate.Finding) sarifResult {
	result := sarifResult{
		RuleID:              f.Rule,
		Level:               string(f.Severity),
		Message:             sarifText{Text: sarifMessage(f)},
		Locations:           []sarifLocation{{PhysicalLocation: w.location(f.Position)}},
		PartialFingerprints: map[string]string{fingerprintName: f.Fingerprint},
	}
	result.Properties = &sarifProperties{Environments: f.Environments, Assignments: f.Assignments}
	return result
}

func sarifMessage(f validate.Finding) string {
	text := f.Message
	if f.Hint != "" {
		text += "\n" + f.Hint
	}
	if len(f.Environments) > 0 {
		text += "\nEnvironments: " + strings.Join(f.Environments, ", ")
	}
	if f.Position.Repo != "" {
		text += "\nIn " + model.Position{Repo: f.Position.Repo, Branch: f.Position.Branch}.String()
	}
	return text
}

func (w *sarifWriter) location(at model.Position) sarifPhysicalLocation {
	file := "./"
	if at.File != "" {
		file = (&url.URL{Path: path.Clean(at.File)}).String()
	}
	return sarifPhysicalLocation{
		ArtifactLocation: sarifArtifactLocation{URI: file, URIBaseID: w.base(at)},
		// A region is required by code scanning, so what concerns a whole file
		// is put in its first line.
		Region: sarifRegion{StartLine: max(at.Line, 1), StartColumn: at.Column},
	}
}

func (w *sarifWriter) base(at model.Position) string {
	branch := model.Position{Repo: at.Repo, Branch: at.Branch}
	if name, known := w.bases[branch]; known {
		return name
	}
	name := branch.String()
	if name == "" {
		name = "SRCROOT"
	}
	for slices.ContainsFunc(w.order, func(b model.Position) bool { return w.bases[b] == name }) {
		name += "'" // another owner's repository of that name
	}
	w.bases[branch] = name
	w.order = append(w.order, branch)
	return name
}

// branches describes the names in use.
func (w *sarifWriter) branches() (map[string]sarifArtifactLocation, []sarifVersionControl) {
	ids := map[string]sarifArtifactLocation{}
	var provenance []sarifVersionControl
	for _, branch := range w.order {
		name := w.bases[branch]
		ids[name] = sarifArtifactLocation{Description: &sarifText{Text: "the root of " + branch.String()}}
		if u, err := url.Parse(branch.Repo); err == nil && u.IsAbs() {
			u.User = nil
			provenance = append(provenance, sarifVersionControl{
				RepositoryURI: u.String(), Branch: branch.Branch, MappedTo: sarifArtifactLocation{URIBaseID: name},
			})
		}
	}
	return ids, provenance
}

// pascal turns a rule's ID into the form that SARIF asks of names.
func pascal(id string) string {
	name := ""
	for _, part := range strings.Split(id, "-") {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}

const sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"

// What follows is the part of SARIF that is written. The names are those of
// the standard.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool                     sarifTool                        `json:"tool"`
	OriginalURIBaseIDs       map[string]sarifArtifactLocation `json:"originalUriBaseIds,omitempty"`
	VersionControlProvenance []sarifVersionControl            `json:"versionControlProvenance,omitempty"`
	ColumnKind               string                           `json:"columnKind"`
	Results                  []sarifResult                    `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name            string      `json:"name"`
	SemanticVersion string      `json:"semanticVersion,omitempty"`
	InformationURI  string      `json:"informationUri,omitempty"`
	Rules           []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID                   string             `json:"id"`
	Name                 string             `json:"name"`
	ShortDescription     sarifText          `json:"shortDescription"`
	FullDescription      sarifText          `json:"fullDescription"`
	Help                 sarifText          `json:"help"`
	DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	Properties           sarifProperties    `json:"properties"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Properties          *sarifProperties  `json:"properties,omitempty"`
}

type sarifLocation struct {
	PhysicalLocation sarifPhysicalLocation `json:"physicalLocation"`
}

type sarifPhysicalLocation struct {
	ArtifactLocation sarifArtifactLocation `json:"artifactLocation"`
	Region           sarifRegion           `json:"region"`
}

type sarifArtifactLocation struct {
	URI         string     `json:"uri,omitempty"`
	URIBaseID   string     `json:"uriBaseId,omitempty"`
	Description *sarifText `json:"description,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type sarifVersionControl struct {
	RepositoryURI string                `json:"repositoryUri"`
	Branch        string                `json:"branch,omitempty"`
	MappedTo      sarifArtifactLocation `json:"mappedTo"`
}

type sarifProperties struct {
	Tags         []string              `json:"tags,omitempty"`
	Environments []string              `json:"environments,omitempty"`
	Assignments  []validate.Assignment `json:"assignments,omitempty"`
}
