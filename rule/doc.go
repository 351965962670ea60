// Package rule decides whether and when a recipient is told: a Rule looks at
// one recipient of one message and allows, skips with a reason, or defers.
//
// It sends nothing, stores nothing and does not log: a Verdict carries what its
// caller writes down. What a rule must look up, such as a roster, it asks
// through a small interface that the caller fills. One file is one rule, and
// one line in types.go makes it known.
package rule
