// Package cli is the program posthouse as a value: an own main with own drivers and rules has every
// command, flag and exit code of ours, doctor and simulate among them.
//
// cmd/posthouse is a few lines over it, and examples/driver is one with a driver and a rule of its own. The server alone, without a command line, is package
// server.
package cli
