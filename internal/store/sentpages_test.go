package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/work"
)

// What was sent is listed by time, kind and from any cursor on, newest first, each delivery once: those that stand where clean deliveries
// were sent, and those of messages with several recipients beside them. Bounds fall between messages, on them, and between deliveries of one.
func TestPagesOfWhatWasSentLoseNothingAtTheirBounds(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		kinds := []string{"order", "shift"}
		var sole, several []work.Entry
		for n := range 8 {
			at := aged(time.Duration(20-n) * time.Hour)
			sole = append(sole, entry(1, at, named(kinds[n%2], "")))
			several = append(several, entry(2+n%2, at, named(kinds[n%2], "")))
			sole = append(sole, entry(1, at, named(kinds[n/2%2], "")))
		}
		kind := map[string]string{} // of deliveries
		note := func(entries []work.Entry) {
			accept(t, s, entries...)
			for _, e := range entries {
				for _, d := range e.Deliveries {
					kind[d.ID] = e.Message.Kind
				}
			}
		}
		note(sole)
		for _, item := range claim(t, s, 1000) {
			record(t, s, sentClean(item.Delivery))
		}
		note(several)
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		accept(t, s, entry(1, aged(16*time.Hour), named("order", "")), entry(2, aged(16*time.Hour), named("order", ""))) // that wait
		wantRows(t, s, map[string]int64{"posthouse_sent": int64(len(sole))})
		var all []string
		for id := range kind {
			all = append(all, id)
		}
		slices.Sort(all)
		slices.Reverse(all)

		check := func(f work.Filter, before string) {
			t.Helper()
			want := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
				at := posthouse.IDTime(id)
				return f.Kind != "" && kind[id] != f.Kind || !f.Since.IsZero() && at.Before(f.Since) || !f.Until.IsZero() && !at.Before(f.Until) || before != "" && id >= before
			})
			f.Tenant, f.Sight, f.States = "t1", work.SeeAll(), []posthouse.State{posthouse.Sent}
			if before != "" {
				f.Cursor = page.Cursor("deliveries", before)
			}
			got := pages(t, f, func(f work.Filter) ([]posthouse.Delivery, string, error) {
				return s.Messages.Deliveries(t.Context(), f)
			}, func(d posthouse.Delivery) string { return d.ID })
			if !slices.Equal(want, got) {
				t.Errorf("%+v before %q (-want +got):\n%s", f, before, cmp.Diff(want, got))
			}
		}
		for _, f := range []work.Filter{{}, {Kind: "order"}, {Channel: "c1"}, {Look: 3}, {Kind: "shift", Look: 3}} {
			for _, limit := range []int{1, 2, 7} {
				f.Limit = limit
				check(f, "")
			}
			f.Limit = 50
			oldest, newest := posthouse.IDTime(all[len(all)-4]), posthouse.IDTime(all[3])
			for _, by := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
				bounded := f
				bounded.Since, bounded.Until = oldest.Add(by), newest.Add(by)
				check(bounded, "")
				bounded.Limit = 2
				check(bounded, "")
			}
			for _, id := range all {
				message := posthouse.MessageID(id)
				for _, before := range []string{id, message, posthouse.LastDeliveryID(message)} {
					check(f, before)
				}
			}
		}
	})
}
