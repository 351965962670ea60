//go:build !linux

package sqldb

// networkFS is not known on this system.
func networkFS(string) string { return "" }
