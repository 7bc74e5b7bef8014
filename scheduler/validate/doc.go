// Package validate finds everything that is wrong or doubtful about a control
// plane before anybody plans with it: what the model reports, what the plan
// reports, and what neither minds but a person would want to know, such as a
// policy that selects nothing because of a misspelled label.
//
// [Validate] is the door. It takes every environment that is to be looked at
// and returns a [Report] of findings, each with a stable rule ID (see [Rules])
// and a place. It decides and does nothing else; [Trees] reads beforehand what
// it needs beyond the model.
//
// The trap is the shared base. Most of what is written there concerns several
// environments, so one mistake comes up once in each of them, and what one
// environment does not use another one may. Therefore equal findings are merged
// into one that lists its environments, and an object counts as unused only
// when no environment that has it uses it.
package validate
