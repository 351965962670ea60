// Package upkeep has the roles that look after the house and move no delivery: what is settled and old goes, what waits is
// counted, and the database is still the one that the process was started with.
package upkeep
