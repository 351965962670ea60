//go:build unix

package channel

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// fewFiles asks the process that the next test starts to use up its files and then call.
const fewFiles = "POSTHOUSE_TEST_FEW_FILES"

// A process that has used up its files says so, instead of blaming the provider. It is another process, since all of
// the tests here share theirs.
func TestAProcessWithoutFilesSaysSo(t *testing.T) {
	t.Parallel()
	if os.Getenv(fewFiles) != "" {
		callWithoutFiles(t)
		return
	}
	self := exec.Command(os.Args[0], "-test.run=^TestAProcessWithoutFilesSaysSo$", "-test.v")
	self.Env = append(os.Environ(), fewFiles+"=1")
	out, err := self.CombinedOutput()
	for _, way := range []string{"wire", "net/http"} {
		if want := way + ": local LOCAL_ERROR"; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, and it does not say %q:\n%s", err, want, out)
		}
	}
}

func callWithoutFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var held []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, f)
	}
	c := NewClient(atHome, ClientOptions{})
	request := Request{URL: &url.URL{Scheme: "http", Host: l.Addr().String()}, Header: http.Header{}, Body: []byte("x")}
	for _, way := range []string{"wire", "net/http"} {
		r := c.Do(context.Background(), request)
		fmt.Printf("%s: %s %s\n", way, r.Class(), r.Code)
		c.wire = nil
	}
	for _, f := range held {
		f.Close()
	}
}
