package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// owner is the user that the servers run as: nobody where we are root, because
// PostgreSQL and MariaDB refuse root; else ourselves.
type owner struct {
	credential *syscall.Credential // nil: ourselves
}

func whoRuns() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return owner{}, fmt.Errorf("find a user other than root for the server: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return owner{}, fmt.Errorf("user nobody: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return owner{}, fmt.Errorf("user nobody: %w", err)
	}
	return owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// own hands a file to the owner.
func (o owner) own(path string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(path, int(o.credential.Uid), int(o.credential.Gid))
}

// folder makes the directory of a server, "" for a temporary one, with its
// symbolic links resolved.
func (o owner) folder(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "posthouse-dbtest-")
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if err := o.openTheWay(dir); err != nil {
		return "", err
	}
	return dir, o.own(dir)
}

// openTheWay lets the owner pass through the temporary directories above dir:
// those of testing.T are closed to everyone but root.
func (o owner) openTheWay(dir string) error {
	if o.credential == nil {
		return nil
	}
	top, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	for up := filepath.Dir(dir); strings.HasPrefix(up, top+"/"); up = filepath.Dir(up) {
		st, err := os.Stat(up)
		if err != nil {
			return err
		}
		if err := os.Chmod(up, st.Mode().Perm()|0o011); err != nil {
			return err
		}
	}
	return nil
}

// command is a program run by the owner in dir, with an environment that holds
// nothing of the caller's but PATH.
func (o owner) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":" + dir, "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: o.credential}
	return cmd
}
