// Package failover holds the tests that promote a standby of PostgreSQL or a replica of MariaDB under load, that move the writer of
// a Galera cluster, that hand over between two places, and that have Patroni promote (HA of docs/reliability.md): the primary is killed, frozen,
// or cut off while a server still works on it, and the clock of what is promoted may differ.
//
// The database's servers, two servers of ours and the callers run beside each other. Each of ours reaches the database by a link of
// its own, so that one can be left with the former primary. What a run shows is judged by package verify.
//
// It has no code of its own: everything here is tests.
package failover
