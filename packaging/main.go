package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release is what is made, and of what.
type release struct {
	root    string // of the repository
	out     string
	version string
	commit  string
	at      time.Time // of the commit: the time of everything in the files
}

// platforms are those that binaries are made for. Packages and images are made of the ones for Linux.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	var r release
	var epoch int64
	only := flag.String("only", "", "the platforms to build for, with commas between (default all)")
	flag.StringVar(&r.root, "root", "..", "the repository")
	flag.StringVar(&r.out, "out", "dist", "the folder to make")
	flag.StringVar(&r.version, "version", "", "the version")
	flag.StringVar(&r.commit, "commit", "", "the commit")
	flag.Int64Var(&epoch, "epoch", 0, "when that was committed, in Unix seconds (SOURCE_DATE_EPOCH)")
	flag.Parse()
	r.at = time.Unix(epoch, 0).UTC()
	chosen := platforms
	if *only != "" {
		chosen = strings.Split(*only, ",")
	}
	if err := r.make(chosen); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func (r release) make(chosen []string) error {
	switch {
	case r.version == "" || r.commit == "" || r.at.Unix() == 0:
		return errors.New("-version, -commit and -epoch are wanted: make dist gives them")
	case runtime.Version() != toolchain(r.root):
		return fmt.Errorf("this is %s, and go.mod names %s, with which alone others make the same bytes: make dist chooses it", runtime.Version(), cmp.Or(toolchain(r.root), "no toolchain"))
	case slices.ContainsFunc(chosen, func(p string) bool { return !slices.Contains(platforms, p) }):
		return fmt.Errorf("-only %s: known are %s", strings.Join(chosen, ","), strings.Join(platforms, ", "))
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "posthouse-dist-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // of the system's temporary files
	shared, err := r.shared(work)
	if err != nil {
		return err
	}
	for _, platform := range chosen {
		if err := r.of(platform, work, shared); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := r.deployment(); err != nil {
		return err
	}
	if err := r.notes(); err != nil {
		return err
	}
	return r.sums()
}

var named = regexp.MustCompile(`(?m)^toolchain (go\S+)$`)

// toolchain is the Go that go.mod names, empty where it names none.
func toolchain(root string) string {
	text, _ := os.ReadFile(filepath.Join(root, "go.mod")) // what cannot be read names none
	if m := named.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// of makes all that is made for a platform.
func (r release) of(platform, work, shared string) error {
	system, arch, _ := strings.Cut(platform, "/")
	binary := filepath.Join(work, system+"-"+arch, "posthouse")
	if system == "windows" {
		binary += ".exe"
	}
	fmt.Println("build  ", platform)
	if err := r.build(system, arch, binary); err != nil {
		return err
	}
	if err := r.archive(system, arch, binary, shared); err != nil {
		return err
	}
	if err := r.inventory(system, arch, binary); err != nil {
		return err
	}
	if system != "linux" {
		return nil
	}
	if err := r.packages(arch, binary, shared); err != nil {
		return err
	}
	return r.image(arch, binary)
}

// build makes a static binary, the same from any folder.
func (r release) build(system, arch, binary string) error {
	stamp := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.at.Format(time.RFC3339))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", binary, "./cmd/posthouse")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH="+arch)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// shared are the files that each system has alike: the manual and what shells complete. They are made by the program itself, as
// this machine runs it.
func (r release) shared(work string) (string, error) {
	folder := filepath.Join(work, "shared")
	self := filepath.Join(work, "self")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", self, "./cmd/posthouse")
	cmd.Dir, cmd.Env, cmd.Stderr = r.root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="), os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(folder, "completion"), 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command(self, "man", filepath.Join(folder, "man")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the manual: %w: %s", err, out)
	}
	for shell, name := range map[string]string{"bash": "posthouse", "zsh": "_posthouse", "fish": "posthouse.fish"} {
		out, err := exec.Command(self, "completion", shell).Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "completion", name), out, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return folder, nil
}

// sums writes SHA256SUMS, by which sha256sum --check finds a file that is not ours.
func (r release) sums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, file := range files { // in order
		f, err := os.Open(filepath.Join(r.out, file.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), file.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// notes cuts the version's section out of the changelog; between releases that of what is not released.
func (r release) notes() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "NOTES.md"), []byte(section(string(text), r.version)), 0o644)
}

// section is what a changelog says of a version.
func section(changelog, version string) string {
	head := "## [" + version
	if strings.Contains(version, "-") || !strings.Contains(changelog, head) {
		head = "## "
	}
	at := strings.Index(changelog, "\n"+head)
	if at < 0 {
		return changelog
	}
	rest := changelog[at+1:]
	if end := strings.Index(rest[len(head):], "\n## "); end >= 0 {
		rest = rest[:len(head)+end+1]
	}
	return rest
}
