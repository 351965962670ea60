// Package partition keeps what is settled in partitions by time, on the databases that have such: it makes them ahead, moves
// out what must stay, and drops them whole (partition.go). How a database does it is one value for each (postgres.go,
// mysql.go). MariaDB drops table by table: what is on its way out meanwhile is told here too (leaving.go).
//
// It deletes no single row: that is for Prune of package store.
package partition
