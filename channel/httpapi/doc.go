// Package httpapi is the driver for any provider with an HTTP interface: what to send and how to
// read the answer are configuration, so that connecting a house's own gateway takes no code.
//
// Texts with placeholders (the URL, headers and the body) are parsed once, when the channel is
// opened. Each ${name} is replaced in one pass by a value escaped for where it stands, so a value
// can neither end the string it is in nor bring in a placeholder of its own. "$${" is a plain "${".
//
// Values are read from an answer by a JSON path such as $.result.items[0].id, or by a regular
// expression (RE2) between slashes such as /^OK (\d+)/, whose first group is the value.
//
// It is not a programming language: no conditions, no loops, no arithmetic. A provider that wants
// a signature or a token exchange gets a driver of its own.
package httpapi
