package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// read reads so many bytes for a caller, and returns what holds them.
func (b *Bodies) read(who string, n int) (*Held, error) {
	h := b.Hold(who)
	_, err := io.Copy(io.Discard, h.Reader(bytes.NewReader(make([]byte, n))))
	return h, err
}

func TestBodiesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := NewBodies(4000, 1000, slog.New(slog.NewTextHandler(&log, nil)))
	first, err := b.read("a", 900)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := b.read("a", 200)
		var f *Fault
		if !errors.As(err, &f) || f.status != http.StatusServiceUnavailable || f.after < 1 || posthouse.CodeOf(err) != posthouse.CodeUnavailable {
			t.Fatalf("a caller beyond a quarter: got %v", err)
		}
		again.Free()
	}
	for _, who := range []string{"b", "c", "d"} {
		if _, err := b.read(who, 1000); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	if _, err := b.read("e", 200); err == nil {
		t.Error("more than all together may was read")
	}
	first.Free()
	first.Free()
	if _, err := b.read("a", 1000); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("the refusals are %d lines of the log:\n%s", n, log.String())
	}
}

// Where the largest body is more than a quarter, one of it is read all the same.
func TestTheLargestBodyAlwaysFits(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{0, 1, 1500, 1 << 30} {
		if _, err := NewBodies(most, 1000, slog.New(slog.DiscardHandler)).read("a", 1000); err != nil {
			t.Errorf("%d: %v", most, err)
		}
	}
}

// An object has a bound on its names, each of which would cost many times its bytes. It stands wherever an object may.
func TestAnObjectHasABoundOnItsNames(t *testing.T) {
	t.Parallel()
	object := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"n%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"a payload with as many as are allowed": {`{"channel":"c","payload":` + object(maxNames) + `}`, ""},
		"one more":                              {`{"channel":"c","payload":` + object(maxNames+1) + `}`, "payload"},
		"in a list":                             {`{"messages":[{"payload":{"x":[` + object(maxNames+1) + `]}}]}`, "messages[0].payload.x[0]"},
		"in what is unknown":                    {`{"nonsense":` + object(maxNames+1) + `}`, "nonsense"},
	} {
		_, problems, err := sendReader.Read([]byte(c.body))
		problems = append(problems, ProblemsOf(err)...)
		got := ""
		for _, p := range problems {
			if strings.Contains(p.Message, "names") {
				got = p.Path
			}
		}
		if got != c.want {
			t.Errorf("%s: refused at %q, want %q: %v", name, got, c.want, problems)
		}
	}
}

// What is refused costs no more than a few times its bytes, whatever it is made of.
func TestWhatIsRefusedCostsLittle(t *testing.T) {
	const size = 4 << 20
	repeat := func(head, piece, tail string) string {
		return head + strings.Repeat(piece, (size-len(head)-len(tail))/len(piece)) + tail
	}
	for name, body := range map[string]string{
		"names that stand twice": repeat(`{"payload":{"a":0`, `,"a":0`, `}}`),
		"many names":             manyNames(size),
		"small objects":          repeat(`{"messages":[{}`, `,{}`, `]}`),
		"deep objects":           repeat(`{"payload":{"a":[0`, `,{"a":{"b":{"c":0}}}`, `]}}`),
		"numbers":                repeat(`{"messages":[0`, `,0`, `]}`),
		"unknown texts":          repeat(`{"x":[""`, `,""`, `]}`),
	} {
		text := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = sendReader.Read(text) //nolint:errcheck // some are refused later: a payload has a bound of its own
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 4*size {
			t.Errorf("%s: %d bytes of a body allocated %d", name, len(text), made)
		}
	}
}

func manyNames(size int) string {
	var b strings.Builder
	b.WriteString(`{"payload":{"_":0`)
	for i := 0; b.Len() < size-32; i++ {
		fmt.Fprintf(&b, `,"%x":0`, i)
	}
	b.WriteString(`}}`)
	return b.String()
}
