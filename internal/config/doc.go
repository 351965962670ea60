// Package config makes server.Options of what an operator wrote: flags, POSTHOUSE_*
// variables, a .env file and a YAML file, in this order of precedence, and the
// defaults below them. One table of settings names all four and the help text.
//
// It checks the form of each value and reports everything that is wrong at once,
// with where it was written; what needs a database or a network is the server's to
// check. It also makes the program's logger, because that is where secrets are
// known. It starts nothing.
package config
