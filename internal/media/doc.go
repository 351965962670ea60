// Package media takes the files that are to be sent: it looks whether each is what it says, keeps them in the store for a
// time, and hands them to drivers.
//
// It does not know what a provider takes: a driver says so when a message names a file.
package media
