// Package upgrade runs programs of two versions on one database, one after the other and beside each other, and upgrades what earlier ones
// have left. The later version is today's program with the migrations of internal/store/schema/testdata/next, put into it by edits.
//
// What earlier programs have left lies in testdata: a database of each kind with everything under way in it, its keys, and the journals of how it came to
// be. `make fixtures` makes them anew.
package upgrade
