// Package network holds the fault tests of what lies between processes: the link
// to the database (B1), providers that answer in every wrong way (B2, B3, B4), a
// worker that is cut off or stands still (B5), channels that hang or were away
// (B6, B7).
//
// It has no code of its own: everything here is tests.
package network
