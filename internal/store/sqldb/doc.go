// Package sqldb is what the parts of the store stand on: the connection to SQLite, PostgreSQL, or MySQL and MariaDB, with
// its clock, its transactions and the scanning of rows. What differs between the databases is one value, a Dialect. It
// knows no table but the few words of posthouse_meta that writes wait on, and decides nothing.
//
// A write is a function over a Tx. On SQLite the committer runs what queued up in one transaction and one fsync; elsewhere each
// has its own, which is repeated when the database undid it. Writes that belong together are a Bundle, one statement on
// PostgreSQL.
package sqldb
