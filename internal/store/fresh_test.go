package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// full is an entry with something in each column of a clean delivery.
func full(e *work.Entry) {
	m, d := &e.Message, &e.Deliveries[0]
	m.Kind, m.Ref, m.Template, m.Version, m.Payload, m.Source = "k", "7", "t", 3, []byte(`{"a":1}`), "crm"
	m.DedupKey, m.OnUnknown, m.Trace = "", posthouse.Hold, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	m.NotBefore = time.Now().Add(-time.Hour)
	d.NotBefore, d.Type, d.Account, d.IdemKey, d.OnUnknown = m.NotBefore, "mobile", "acc", "mine", posthouse.Hold
}

// What a process remembers of what it has accepted is what a claim would read.
func TestWhatIsFreshIsAsItWillBeRead(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1), entry(1, full), entry(1, func(e *work.Entry) {
			e.Message.Content, e.Message.Payload = posthouse.Content{Text: "<a & b>\u2028"}, []byte{}
		}))
		fresh := s.Queue.fresh.first(lane, 10, time.Now())
		read := map[string]*work.Item{}
		err := s.DB.Look(t.Context(), "SELECT "+layout.Clean.List+" FROM posthouse_messages", nil, func(scan func(...any) error) error {
			m, d, err := layout.ScanClean(scan)
			read[d.ID] = &work.Item{Delivery: *d, Message: m}
			return err
		})
		if diff := cmp.Diff(read, fresh); err != nil || len(fresh) != 3 || diff != "" {
			t.Errorf("%v, %d are remembered, want 3 (-read +remembered):\n%s", err, len(fresh), diff)
		}
	})
}

// A claim takes what it remembers and what it has to read in one order, and forgets what it took.
func TestAClaimTakesWhatItRemembersAndWhatItReads(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var ids []string
		for range 5 {
			ids = append(ids, accept(t, s, entry(1, full))...)
		}
		l := s.Queue.fresh.lanes[lane]
		s.Queue.fresh.drop(l, ids[1])
		s.Queue.fresh.drop(l, ids[3])
		items := claim(t, s, 4)
		var got []string
		for _, item := range items {
			got = append(got, item.Delivery.ID)
			if item.Message.ID != item.Delivery.Message || item.Message.Content.Text == "" || item.Delivery.State != posthouse.Sending || item.Delivery.LeaseOwner != "w1" {
				t.Errorf("claimed %+v of %+v", item.Delivery, item.Message)
			}
		}
		if diff := cmp.Diff(ids[:4], got); diff != "" {
			t.Errorf("claimed (-want +got):\n%s", diff)
		}
		if len(l.items) != 1 || len(l.order) != 1 {
			t.Errorf("%d are remembered in %d places, want the one that waits", len(l.items), len(l.order))
		}
		got = nil
		for _, item := range claim(t, s, 4) {
			got = append(got, item.Delivery.ID)
		}
		if diff := cmp.Diff(ids[4:], got); diff != "" || s.Queue.fresh.size != 0 {
			t.Errorf("%d bytes are still kept; claimed (-want +got):\n%s", s.Queue.fresh.size, diff)
		}
	})
}

// What is refused, not due yet, or too much is not kept, and nothing for long.
func TestLittleIsKeptFresh(t *testing.T) {
	t.Parallel()
	now, f := time.Now(), &fresh{}
	of := func(with ...func(*work.Entry)) arrival {
		e := entry(1, with...)
		stamp(&e, sqldb.Micros(now))
		return arrival{entry: &e}
	}
	large := func(e *work.Entry) { e.Message.Payload = make([]byte, freshSize/2) }
	f.add([]arrival{
		of(each(func(d *posthouse.Delivery) { d.DueAt = now.Add(time.Minute) })),
		of(func(e *work.Entry) { e.Message.Content.Text = "\xff" }),
		of(large), of(large), of(),
	}, now)
	if n := len(f.first(lane, 10, now)); n != 2 {
		t.Errorf("%d are kept, want the first large one and the small one", n)
	}
	later := now.Add(freshFor)
	f.add([]arrival{of(large)}, later)
	if n := len(f.first(lane, 10, later)); n != 1 {
		t.Errorf("%d are kept after %v, want the new one", n, freshFor)
	}
	if n := len(f.first(lane, 10, later.Add(freshFor))); n != 0 || f.size != 0 {
		t.Errorf("%d of %d bytes are kept at the end", n, f.size)
	}
}
