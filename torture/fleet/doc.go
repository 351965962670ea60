// Package fleet holds the test of many accounts behind one channel (FLEET of docs/reliability.md): servers that are killed while they
// send by all of them, to a provider that counts every account's windows by itself and punishes one that is too fast.
//
// It has no code of its own: everything here is tests.
package fleet
