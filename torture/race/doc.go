// Package race holds the tests of what many do to the same rows at once: claims,
// results and cancels against a model of one delivery, equal keys, limits in
// several windows, and transactions that the database undoes for each other's sake.
//
// It has no code of its own: everything here is tests.
package race
