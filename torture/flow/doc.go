// Package flow holds the fault test of workflow notices: jobs for many people at once, over a gateway
// that takes a call whole, answers badly and is asked by two servers on one database.
//
// It has no code of its own: everything here is tests.
package flow
