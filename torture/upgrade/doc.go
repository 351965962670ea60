// Package upgrade runs programs of two versions on one database, one after the other and beside each other, and upgrades what earlier ones
// have left. The later version is today's program with the migrations of internal/store/schema/testdata/next, put into it by edits.
//
// What earlier programs have left lies in testdata, by the version of its schema: a database of each kind with everything under way in it, its keys, and
// the journals of how it came to be. `make fixtures` makes that of the program as it is anew; those of earlier versions stay.
package upgrade
