// Package crash holds the tests that kill: server processes at random times and at
// named points of their work, by SIGTERM under load, and the database below them
// (A1 to A4 of docs/reliability.md).
//
// A point is named by an edit that overlay.Build makes for the test; the product's
// code has none. What a run shows is judged by package verify, and counted once
// more here, from the event log and the provider's journal alone.
//
// It has no code of its own: everything here is tests.
package crash
