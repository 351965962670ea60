package channel

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestNothingLeavesAfterTheEndOfARequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		early string // written in time
		left  bool
	}{
		{"nothing was written in time", "", false},
		{"a part was written in time", "POST /send HTTP/1.1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				arrived := make(chan string, 1)
				go func() {
					b, _ := io.ReadAll(far)
					arrived <- string(b)
				}()
				request := track{conn: &conn{Conn: near, gate: gate{until: time.Now().Add(time.Second)}}}
				if c.early != "" {
					if _, err := io.WriteString(request.conn, c.early); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(time.Second) // as a process that stands still
				if _, err := io.WriteString(request.conn, "late"); !errors.Is(err, errSealed) {
					t.Errorf("a late write: %v, want %v", err, errSealed)
				}
				if left := request.left(); left != c.left {
					t.Errorf("left = %v, want %v", left, c.left)
				}
				near.Close()
				if got := <-arrived; got != c.early {
					t.Errorf("%q arrived, want %q", got, c.early)
				}
			})
		})
	}
}
