// Package pooler holds the fault tests of what may stand between the servers and PostgreSQL: pgbouncer, which keeps a session for
// a transaction or for a client and is killed, and proxies that cut connections that are idle or old.
//
// It has no code of its own: everything here is tests.
package pooler
