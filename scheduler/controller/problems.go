package controller

import (
	"log/slog"
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// problems are those that were there after the last run, as people read them,
// sorted.
type problems []string

// severities counts problems.
type severities map[model.Severity]int

// change returns what has appeared and what is gone in next, which must be
// sorted.
func (p problems) change(next problems) (appeared, gone []string) {
	for _, line := range next {
		if _, ok := slices.BinarySearch(p, line); !ok {
			appeared = append(appeared, line)
		}
	}
	for _, line := range p {
		if _, ok := slices.BinarySearch(next, line); !ok {
			gone = append(gone, line)
		}
	}
	return appeared, gone
}

func logProblems(log *slog.Logger, appeared, gone []string) {
	for _, line := range appeared {
		log.Warn("problem: " + line)
	}
	for _, line := range gone {
		log.Info("problem is gone: " + line)
	}
}

func sorted(lines []string) problems {
	slices.Sort(lines)
	return slices.Compact(lines)
}
