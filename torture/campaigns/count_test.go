package campaigns

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// tally says what became of the members, by the export and by what reached the provider.
type tally struct {
	members                 int // that the export names once
	outcomes                map[string]int64
	lost                    int // nothing reached them, and nobody knows it
	copies                  int // messages that reached a member after the first
	strangers               int // members nobody imported, or who are named twice
	unknown, unknownArrived int
	unnamed                 int // who are unknown without a reason
}

// judge holds the export against the arrivals: taken is how many messages reached each member.
func judge(taken []int, export io.Reader) (t tally, err error) {
	t.outcomes = map[string]int64{}
	seen := make([]bool, len(taken))
	for d := json.NewDecoder(export); ; {
		var m wire.CampaignMember
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return t, err
		}
		i := number(m.Address, len(taken))
		if i < 0 || seen[i] {
			t.strangers++
			continue
		}
		seen[i] = true
		t.members++
		t.member(&m, taken[i])
	}
	t.lost += len(taken) - t.members
	return t, nil
}

// member counts one who was sent so many messages.
func (t *tally) member(m *wire.CampaignMember, taken int) {
	t.outcomes[m.Outcome]++
	t.copies += max(0, taken-1)
	switch m.Outcome {
	case campaign.Sent.String():
		if taken == 0 {
			t.lost++
		}
	case campaign.Unknown.String():
		t.unknown++
		t.unknownArrived += min(taken, 1)
		if m.Reason == nil || m.Reason.Code == "" {
			t.unnamed++
		}
	default:
		t.lost++ // nobody was cancelled, suppressed or refused
	}
}

// number is which of n members an address is, -1 for none.
func number(address string, n int) int {
	text, ok := strings.CutPrefix(address, "u")
	i, err := strconv.Atoi(text)
	if !ok || err != nil || i < 0 || i >= n {
		return -1
	}
	return i
}

// arrived is how many messages reached each of so many members, and how many reached nobody of them.
func arrived(t *testing.T, h *house.House, people int) (taken []int, strange int) {
	t.Helper()
	taken = make([]int, people)
	h.Provider.Each(t, func(a *simulator.Arrival) {
		switch i := number(a.User, people); {
		case i < 0:
			strange++
		case a.Answer != simulator.Refused && !a.Repeat:
			taken[i]++
		}
	})
	return taken, strange
}

// count asks the campaign for its export and its progress, and adds what they do not agree on.
func (s *storm) count(t *testing.T, f form) tally {
	t.Helper()
	c := s.h.Members[0].Client(t, 3)
	got, err := c.Campaigns.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	taken, strange := arrived(t, s.h, f.people)
	export, in := io.Pipe()
	go func() { in.CloseWithError(c.Campaigns.Export(t.Context(), in, name, "ndjson", "")) }()
	found, err := judge(taken, export)
	if err != nil {
		t.Fatal(err)
	}
	found.strangers += strange
	p := got.Progress
	if got.State != posthouse.CampaignDone || p.Members != int64(f.people) || p.Sent != found.outcomes["sent"] || p.Unknown != found.outcomes["unknown"] || p.Sent+p.Unknown != p.Members {
		t.Errorf("the campaign says %+v, and its export %+v", got, found.outcomes)
	}
	return found
}

// doubted counts the members who were under way when their process was killed, as the segments note them: also those who have
// been sent to again since.
func (s *storm) doubted(t *testing.T) (n int) {
	t.Helper()
	s.each(t, func(seg *work.Segment) {
		for _, at := range seg.Noted {
			if at > 0 && seg.Reasons[at-1].Code == "WORKER_LOST" {
				n++
			}
		}
	})
	return n
}

// What the run must not find is found where it is.
func TestTheExportShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	export := strings.Join([]string{
		`{"address":"u0","outcome":"sent"}`,
		`{"address":"u1","outcome":"sent"}`, // nothing arrived
		`{"address":"u2","outcome":"sent"}`, // twice
		`{"address":"u3","outcome":"unknown","reason":{"outcome":"unknown","code":"WORKER_LOST"}}`,
		`{"address":"u4","outcome":"unknown"}`, // why?
		`{"address":"u5","outcome":"unsent"}`,  // nobody cares
		`{"address":"u0","outcome":"sent"}`,    // again
		`{"address":"u9","outcome":"sent"}`,    // who?
	}, "\n")
	got, err := judge([]int{1, 0, 3, 1, 0, 0, 0}, strings.NewReader(export)) // u6 is missing
	if err != nil {
		t.Fatal(err)
	}
	if sent := got.outcomes["sent"]; sent != 3 {
		t.Errorf("%d are sent, want 3", sent)
	}
	got.outcomes = nil
	want := tally{members: 6, lost: 3, copies: 2, strangers: 2, unknown: 2, unknownArrived: 1, unnamed: 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
