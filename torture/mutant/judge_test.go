package mutant

import (
	"io"
	"iter"
	"os"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/house"
)

// judge has the checker judge a run by its journals.
func (s *scenario) judge(t *testing.T, h *house.House) verify.Report {
	t.Helper()
	st := h.Store(t)
	ch, err := st.Channel(t.Context(), posthouse.DefaultTenant, "generic")
	if err != nil {
		t.Fatal(err)
	}
	var events iter.Seq2[posthouse.Event, error] = func(yield func(posthouse.Event, error) bool) {
		_, err := st.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
			if !yield(e, nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && err != io.EOF {
			yield(posthouse.Event{}, err)
		}
	}
	seen := s.seen
	if seen == nil {
		seen = []string{"none"}
	}
	report, err := verify.Check(t.Context(), verify.Inputs{
		Events: events, Client: journal(t, h.Told), Sink: journal(t, h.Provider.Journal), Faults: journal(t, h.Faults),
		Channels: []posthouse.Channel{ch}, AtRest: true, Now: time.Now(), KeyWindow: s.keyWindow, Sometimes: seen,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func journal(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
