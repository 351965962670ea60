// Package reading reads messages, deliveries and what has happened to them: one of each, lists in pages (lists.go), the whole
// log in parts (history.go), all that is stored (holdings.go, chain.go), and the three logs of requests and phones (logs.go).
// A delivery that is clean is told as if it had rows of its own (cleanread.go, cleanhistory.go).
//
// It changes nothing but the links of the hash chain, and decides nothing: what is shown to whom is for package read.
package reading
