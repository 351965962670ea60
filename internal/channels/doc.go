// Package channels keeps the configured channels of a server open: it checks what an operator writes, seals the
// secrets, stores it, opens the driver and hands it to the engine, and it takes over what other processes changed.
//
// An Opener turns a stored channel into an open driver. It needs no database, so the doctor opens channels with it
// exactly as the server does. A Set is the channels of a running server.
//
// It sends nothing but the tests that an operator asks for: sending is the engine's.
package channels
