// Package content says what a message reads like: as its template is filled, at which
// moment, and how the content of a sensitive message is sealed and opened again. It
// stores nothing; package intake fills and seals what is accepted, and those that send
// or hand out ask for what a message reads like now.
package content
