// Package model reads the platform model out of git trees: YAML documents
// become typed objects, each with the place it was read from, and everything
// that is wrong with them becomes a diagnostic that names file and line.
//
// [LoadEnvironment] is the door. It reads through a [Reader] and decides by
// content only: never by a file's name or folder, and never by the order in
// which files come, so that the same trees always give the same model.
//
// The trap is absence. An object that could not be read looks exactly like one
// that somebody has deleted, and a plan made from it would delete what it
// stands for. So a read error ends LoadEnvironment, and what is in the trees
// but cannot be understood sets [Environment.Incomplete].
package model
