//go:build !linux

package sqldb

// networkFS is not known on this system.
func networkFS(string) string { return "" }

// freeRoom is not known on this system.
func freeRoom(string) (bytes int64, known bool) { return 0, false }
