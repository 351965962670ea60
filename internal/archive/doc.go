// Package archive writes settled messages with their whole history to a file, and reads such a file back.
//
// An archive is compressed with gzip and has one JSON object a line, so that zcat and jq read it as well: the first says what was
// asked for, each of the others has one message with its deliveries and events, and the last counts them and has the SHA-256
// of all lines before it. A file that was cut off, changed or put together lacks a last line that fits.
//
// It knows neither where messages are stored nor whose file it is.
package archive
