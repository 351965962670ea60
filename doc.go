// Package posthouse is the vocabulary of Posthouse: what a message, a
// recipient, a delivery and an attempt are, which states a delivery may be in,
// and how an error is said.
//
// It imports only the standard library and holds no behaviour that needs a
// database, a network or a clock of its own. Every other package speaks in
// these words; docs/glossary.md explains them in English and Chinese, and
// docs/states.md draws the state machine that internal/transition decides.
package posthouse
