// Package shell is what all commands share: where they read and write, settings, tables and
// JSON, errors and exit codes. It has no command of its own.
package shell
