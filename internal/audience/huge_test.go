package audience

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// letters gives the same letter as often as it is told to.
type letters struct{ left int64 }

func (e *letters) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), e.left))
	for i := range b[:n] {
		b[i] = 'x'
	}
	e.left -= int64(n)
	return n, nil
}

// CAMP-9: a line that is as long as a file is refused with its number and column, takes as much memory as a short one, and does not
// stop the rest. So does a quote within it that is never closed.
func TestALineWithoutEndIsRefusedInLittleMemory(t *testing.T) {
	const long = 48 << 20 // 2 GB are read in the same way
	for name, c := range map[string]struct {
		format              Format
		before, within, end string
		line, column        int64
		reason              string
	}{
		"CSV":           {Format{Kind: CSV}, "openid,name\no1,a\n", "o2,", "\no3,b\n", 3, 1, "the line does not end within"},
		"an open quote": {Format{Kind: CSV}, "openid,name\no1,\"a\nb\"\n", `o2,"`, "\no3,b\n", 4, 4, "a quote opens here and is not closed within"},
		"NDJSON":        {Format{Kind: NDJSON}, `{"openid":"o1"}` + "\n", `{"openid":"`, "\n" + `{"openid":"o3"}` + "\n", 2, 1, "the line does not end within"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: what they take is measured
			file := io.MultiReader(strings.NewReader(c.before+c.within), &letters{long}, strings.NewReader(c.end))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := NewReader(file, c.format, Position{}, true, nil)
			var got []string
			var refused []*Refused
			for {
				row, err := r.Next()
				var wrong *Refused
				if errors.As(err, &wrong) {
					refused = append(refused, wrong)
					continue
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, row.Address)
			}
			runtime.ReadMemStats(&after)
			if strings.Join(got, " ") != "o1 o3" {
				t.Errorf("got %q", got)
			}
			if len(refused) != 1 || refused[0].Line != c.line || refused[0].Column != c.column || !strings.HasPrefix(refused[0].Reason, c.reason) || len(refused[0].Text) > 4*maxExcerpt {
				t.Errorf("refused: %+v", refused)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
				t.Errorf("a line of %d bytes took %d bytes of memory", int64(long), took)
			}
			if at := r.Position(); at.Offset != int64(len(c.before)+len(c.within)+len(c.end))+long {
				t.Errorf("the reader stands at %d", at.Offset)
			}
		})
	}
}
