// Command posthouse is the program: it serves, and it is the operator's hand on a server that
// runs. All of it is package cli, so that a main with drivers of its own is as short.
package main
