// Package wide holds the test of many processes on one database (G4 of docs/reliability.md). Each worker is a whole server of the
// program, in a process that it shares with some dozen others; only the driver is a part of the test. One such process is killed with all of
// its workers, and another one comes.
//
// It has no code of its own: everything here is tests.
package wide
