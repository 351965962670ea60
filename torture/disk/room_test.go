package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// smallDisk is a file system that can be filled without harm to the machine.
type smallDisk struct {
	dir  string
	how  string         // what stands in the row
	told posthouse.Code // what callers must be told
	// fill takes what room is left; free gives it back.
	fill, free func(t *testing.T)
	server     *dbtest.Server // on it; nil for SQLite
}

// diedOfIt reports whether the database itself has ended, as MariaDB does at times.
func (d *smallDisk) diedOfIt() bool { return d.server != nil && !d.server.Alive() }

// heal gives the room back, and starts a database that has died of it, as whoever watches over it does.
func (d *smallDisk) heal(t *testing.T) {
	t.Helper()
	d.free(t)
	if !d.diedOfIt() {
		return
	}
	d.how += ", of which the database died: it was started again"
	if err := d.server.Restart(); err != nil {
		t.Error(err)
	}
}

// mountSmall mounts a file system of so many bytes in memory; ok is false where that is not allowed.
func mountSmall(t *testing.T, bytes int) (*smallDisk, bool) {
	t.Helper()
	dir := t.TempDir()
	if err := mount(t, dir, fmt.Sprintf("size=%d,mode=1777", bytes)); err != nil {
		t.Logf("a file system of its own cannot be mounted here: %v", err)
		return nil, false
	}
	ballast := filepath.Join(dir, "ballast")
	return &smallDisk{
		dir: dir, how: fmt.Sprintf("tmpfs of %d MiB", bytes>>20), told: posthouse.CodeStorageFull,
		fill: func(t *testing.T) { t.Helper(); takeAll(t, ballast) },
		free: func(t *testing.T) { t.Helper(); remove(t, ballast) },
	}, true
}

// mount mounts as the user that runs the test, or as root where that needs no password. It goes with
// the test.
func mount(t *testing.T, dir, options string) error {
	t.Helper()
	err := syscall.Mount("posthouse", dir, "tmpfs", 0, options)
	if err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		return nil
	}
	out, failed := exec.CommandContext(t.Context(), "sudo", "-n", "mount", "-t", "tmpfs", "-o", options, "posthouse", dir).CombinedOutput()
	if failed != nil {
		return errors.Join(err, fmt.Errorf("sudo mount: %w: %s", failed, strings.TrimSpace(string(out))))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("sudo", "-n", "umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return nil
}

// takeAll writes a file until there is no room.
func takeAll(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("fill the disk: got %v, want no space", err)
	}
}

// zeros is a reader without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// limitFiles bounds the size of the files that a member may write, where nothing can be mounted: its
// kernel answers EFBIG instead of ENOSPC.
func limitFiles(t *testing.T, h *house.House, path string) *smallDisk {
	t.Helper()
	limit := func(t *testing.T, size string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "prlimit", fmt.Sprintf("--pid=%d", h.Members[0].PID()), "--fsize="+size)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("prlimit: %v: %s", err, out)
		}
	}
	return &smallDisk{
		dir: filepath.Dir(path), how: "RLIMIT_FSIZE on the server, since nothing can be mounted here: callers are told unavailable",
		told: posthouse.CodeUnavailable,
		fill: func(t *testing.T) {
			t.Helper()
			st, err := os.Stat(path + "-wal")
			if err != nil {
				t.Error(err)
				return
			}
			limit(t, fmt.Sprintf("%d:unlimited", st.Size()))
		},
		free: func(t *testing.T) { t.Helper(); limit(t, "unlimited") },
	}
}

// readyDetail is what /readyz says of its database.
func readyDetail(t *testing.T, m *house.Member) (status int, detail string) {
	t.Helper()
	resp, err := http.Get("http://" + m.Addr + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var body struct {
		Checks []struct{ Name, Detail string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	for _, c := range body.Checks {
		if strings.HasPrefix(c.Name, "database") {
			detail = c.Detail
		}
	}
	return resp.StatusCode, detail
}
