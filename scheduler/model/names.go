package model

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/redact"
)

// repoName returns the last element of a clone URL, without ".git".
func repoName(url string) string {
	url = redact.URL(url)
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	return url[strings.LastIndexAny(url, "/:")+1:]
}

// String returns "repository@branch:path", or the commit instead of the
// branch where it is set, with the repository's last path element as its name.
func (r Reference) String() string {
	at := r.Branch
	if r.Commit != "" {
		at = r.Commit
	}
	s := repoName(r.Repo) + "@" + at
	if folder := CleanFolder(r.Path); folder != "" {
		s += ":" + folder
	}
	return s
}

// CleanFolder brings the many spellings of a folder in a repository to one:
// "" for the root, else slash-separated elements without slashes around them.
// It never leads out of the repository.
func CleanFolder(folder string) string {
	if clean := strings.TrimPrefix(folder, "./"); fs.ValidPath(clean) && clean != "." {
		return clean // as nearly all are, without a copy
	}
	return strings.TrimPrefix(path.Clean("/"+folder), "/")
}

// Within says whether a file is a folder itself or lies below it, however the folder
// is spelt.
func Within(file, folder string) bool { return within(file, CleanFolder(folder)) }

// within says whether file is folder itself or lies below it.
func within(file, folder string) bool {
	return folder == "" || file == folder || strings.HasPrefix(file, folder+"/")
}

// Nearest returns the candidate that name is most likely a misspelling of, or
// "" when none is near. Among equally near ones the first wins.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Suggest is a hint about a name that is not one of the candidates: which of them was
// meant, and otherwise the given text.
func Suggest(name string, candidates []string, otherwise string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return otherwise
}

// Requirement is what Kubernetes asks of a name, from a message of its package
// validation, without the examples and the regular expression at the end.
func Requirement(message string) string {
	message, _, _ = strings.Cut(message, " (e.g.")
	return message
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := diagonal
			if a[i] != b[j] {
				substitution++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitution, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
