// Package disk takes the disk away: a power cut at every write, a database put back
// from an older copy, a disk without room. What it looks for is a message that was
// accepted and is gone, and one that leaves twice.
//
// It has no code of its own: everything here is tests.
package disk
