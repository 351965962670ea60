//go:build !linux

package store

// networkFS is not known on this system.
func networkFS(string) string { return "" }
