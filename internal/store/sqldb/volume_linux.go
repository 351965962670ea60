package sqldb

import "golang.org/x/sys/unix"

// freeRoom is how many bytes the volume of a path has room for.
func freeRoom(path string) (bytes int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * fs.Bsize, true //nolint:gosec // no volume has 2^63 blocks
}

// networkFS names the network file system that holds a path, empty for a local one. SQLite's
// locks and shared memory do not work across machines.
func networkFS(path string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return ""
	}
	return map[int64]string{ // magic numbers of statfs(2)
		unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
		unix.FUSE_SUPER_MAGIC: "FUSE", unix.V9FS_MAGIC: "9P", unix.AFS_SUPER_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph",
	}[int64(fs.Type)]
}
