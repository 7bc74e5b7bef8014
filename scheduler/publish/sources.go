package publish

import (
	"slices"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// SourceTrailer is the trailer of the scheduler's commits that names what was planned, as
// REPOSITORY@COMMIT. There is one for each repository that the environment was read from,
// those of the control plane first, so that a push leads to the pull request that it made.
const SourceTrailer = "Kalypso-Source"

const (
	maxSourceTrailers = 1_000
	maxSourceField    = 2_000 // bytes; a text has its limits, and the commit has the rest
)

// sourcesOf are the commits that an environment was read from, each as REPOSITORY@COMMIT.
func sourcesOf(all []model.Reference, controlPlane string) []string {
	var own, others []string
	for _, s := range all {
		if s.Commit == "" {
			continue
		}
		text := strings.TrimSuffix(redact.URL(s.Repo), ".git") + "@" + s.Commit
		if list := &others; !slices.Contains(own, text) && !slices.Contains(others, text) {
			if s.Repo == controlPlane {
				list = &own
			}
			*list = append(*list, text)
		}
	}
	return append(own, others...)
}

// Sources are the commits that the scheduler's pull request with this text was planned from,
// those of the control plane first; none for a text that no plan has. Of many repositories
// it has the first, and whole is false: the commit has all, see CommitSources.
func Sources(text string) (all []model.Reference, whole bool) {
	whole = true
	for one := range strings.SplitSeq(findMarker(text, planMarker).source, ",") {
		if source, ok := sourceOf(one); ok {
			all = append(all, source)
		}
		whole = whole && one != moreSources
	}
	return all, whole
}

// CommitSources are the commits that the scheduler's commit with this message was planned from,
// as its trailers name them.
func CommitSources(message string) []model.Reference {
	var all []model.Reference
	for line := range strings.Lines(message) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), SourceTrailer+": ")
		if source, is := sourceOf(text); ok && is {
			all = append(all, source)
		}
	}
	return all
}

func sourceOf(text string) (model.Reference, bool) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 {
		return model.Reference{}, false
	}
	return model.Reference{Repo: text[:i], Commit: text[i+1:]}, true
}

// moreSources is in a marker's field in place of what it does not hold.
const moreSources = "more"

// sourceField is as much of them as a marker holds.
func sourceField(sources []string) string {
	size := 0
	for i, s := range sources {
		if size += len(s) + 1; size > maxSourceField {
			return strings.Join(append(slices.Clone(sources[:i]), moreSources), ",")
		}
	}
	return strings.Join(sources, ",")
}

// message is that of a commit, with the trailers.
func (r *publisher) message(title string) string {
	var b strings.Builder
	b.WriteString(title + "\n")
	for i, s := range r.sources[:min(len(r.sources), maxSourceTrailers)] {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(SourceTrailer + ": " + s + "\n")
	}
	return b.String()
}
