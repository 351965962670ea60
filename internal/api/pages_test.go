package api_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
)

// pages walks over a list and returns how many entries it has, and the length of its longest page in bytes.
func pages(h *house, path string) (entries, longest int) {
	h.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		got := h.must(200, "GET", path+"&cursor="+cursor, "")
		page := read[list[any]](h, got)
		entries, longest, cursor = entries+len(page.Items), max(longest, len(got.body)), page.Next
	}
	return entries, longest
}

// A Content-Length is only announced: 200 requests that stop after a byte must not take 200 MiB.
// Not parallel: what others allocate meanwhile would count.
func TestABodyThatIsAnnouncedTakesNoMemory(t *testing.T) {
	h := with(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/templates/x/preview HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", h.keys["read"])
		all = append(all, conn)
	}
	for _, conn := range all { // the server asks for the body once it reads it
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "{")
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 50<<20 {
		t.Errorf("200 announced mebibytes took %d bytes", taken)
	}
}
