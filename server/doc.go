// Package server is the whole program as a value: Options, New, Start, Stop. It is
// the only place where store, engine, drivers, limits and the HTTP API meet, so it
// can be embedded in another program and is what the command and the tests start.
//
// It reads no file but the keyring and no environment: that is internal/config's.
package server
