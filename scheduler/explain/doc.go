// Package explain answers why a deployment target is where it is, why it is
// not where somebody expected it, and where each value of its configuration
// comes from.
//
// [Explain] takes what was planned from, what was planned, and a question, and
// returns an [Explanation]: plain data, for programs as JSON and for people as
// [Explanation.Text]. It reads nothing else and decides nothing by itself:
// whether a clause holds and whether a label fits, package plan says, so that
// an explanation never differs from the plan.
//
// What an explanation adds is the reason. A policy selects a target when all
// of its clauses hold, so the reason why it does not is the first clause that
// fails, with three things beside it: where the clause stands, what the object
// has instead, and what was most likely meant. A misspelling is only suspected
// where no object of the environment has what the clause wants: a cluster type
// in east-us is not a misspelt one in west-us.
package explain
