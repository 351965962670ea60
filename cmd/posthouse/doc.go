// Command posthouse is the program: it serves, and it is the operator's hand on a
// server that runs. One command is one file; what they share is in program.go
// (streams and settings), fault.go (errors and exit codes) and print.go (tables and
// JSON).
//
// It holds no behaviour of the house itself: serve starts package server, and the
// commands that look and change call its HTTP API through package client.
package main
