// Package dbtest starts real PostgreSQL, MariaDB and Redis servers for tests
// and benchmarks, and is imported by nothing else.
//
// A test asks for a database and gets one of its own:
//
//	dsn := dbtest.Postgres(t) // or dbtest.MariaDB(t), dbtest.SQLite(t)
//	addr := dbtest.Redis(t)
//
// The first call in a test binary starts the server in a temporary directory,
// on a free loopback port; later calls add a database to it, which goes when
// its test ends. A test that wants to stop, kill or restart its server, or that
// needs commits to be synced, takes a whole one with Own; a program does so
// with Start.
//
// Many tests that want the same tables take their databases from Copies, which makes them once.
//
// StartPatroni starts a cluster of PostgreSQL servers that Patroni rules, Galera one of MariaDB.
//
// No TestMain is needed. Each server has a watch, a small shell that waits for
// this process to end, however it ends, and then ends the server and removes its
// directory. No goroutine of a server outlives its last database by a second, so
// goleak stays quiet; servers cannot be used inside a synctest bubble, because they live outside of it.
//
// The servers run in a time zone that is not UTC, so that code which trusts the
// zone of its database fails here first. Run by root, they run as nobody.
//
// It is not a fake and not a wrapper: what a test gets is a DSN. A server that is
// not installed skips the test, and fails it where CI=true. DBTEST_SERVERS=none
// leaves all servers out, and DBTEST_POSTGRES names the folder with the programs of another PostgreSQL.
package dbtest
