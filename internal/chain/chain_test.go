package chain_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/ids"
	"github.com/posthouse/posthouse/internal/work"
)

// book is a chain in memory over messages in memory.
type book struct {
	whole     []work.Whole
	keys      []work.Key
	acks      []posthouse.Notification
	links     []work.Checkpoint
	meanwhile func() // is done once, when all links were read
}

func (b *book) KeysWithin(_ context.Context, after, last string) ([]work.Key, error) {
	return slices.DeleteFunc(slices.Clone(b.keys), func(k work.Key) bool { return k.ID <= after || k.ID > last }), nil
}

func (b *book) AcksWithin(_ context.Context, after, last string) ([]posthouse.Notification, error) {
	return slices.DeleteFunc(slices.Clone(b.acks), func(n posthouse.Notification) bool { return n.ID <= after || n.ID > last }), nil
}

func (b *book) WholeAfter(_ context.Context, after string) (list []work.Whole, last string, err error) {
	for _, w := range b.whole {
		if w.ID > after && len(list) < 3 {
			list = append(list, w)
		}
	}
	if len(list) == 3 {
		last = posthouse.LastDeliveryID(list[2].ID)
	}
	return list, last, nil
}

func (b *book) LastCheckpoint(_ context.Context, pass int) (last work.Checkpoint, found bool, err error) {
	for _, c := range b.links {
		if pass < 0 || c.Pass == pass {
			last, found = c, true
		}
	}
	return last, found, nil
}

// CheckpointOf finds the last link that has a line of an id.
func (b *book) CheckpointOf(_ context.Context, id string) (c work.Checkpoint, found bool, err error) {
	for _, link := range b.links {
		if strings.Contains(link.Body, id) {
			c, found = link, true
		}
	}
	return c, found, nil
}

func (b *book) AddCheckpoint(_ context.Context, _ time.Time, c work.Checkpoint, forget string) error {
	b.links = append(b.links, c)
	for i := range b.links {
		if l := &b.links[i]; l.Pass == c.Pass-1 && l.High <= c.High || l.High < forget {
			l.Body = ""
		}
	}
	return nil
}

func (b *book) Checkpoints(_ context.Context, after int64) ([]work.Checkpoint, error) {
	list := slices.Clone(b.links[min(int(after), len(b.links)):])
	if len(list) == 0 && b.meanwhile != nil {
		do := b.meanwhile
		b.meanwhile = nil
		do()
	}
	return list, nil
}

var noon = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// sent is a message that was handed in some minutes after noon, and sent.
func sent(minute int) work.Whole {
	at := noon.Add(time.Duration(minute) * time.Minute)
	id := ids.At(at, "m")
	d := posthouse.Delivery{ID: posthouse.DeliveryID(id, 1), Message: id, Tenant: "t", Channel: "c", State: posthouse.Sent, Version: 3, CreatedAt: at}
	return work.Whole{ID: id, Message: &posthouse.Message{ID: id, Tenant: "t", Channel: "c", CreatedAt: at}, Recipients: 1, Deliveries: []posthouse.Delivery{d}, Events: []posthouse.Event{
		{Delivery: d.ID, Version: 1, Type: posthouse.EventAccept, To: posthouse.Pending, At: at},
		{Delivery: d.ID, Version: 2, Type: posthouse.EventStart, From: posthouse.Pending, To: posthouse.Sending, At: at},
		{Delivery: d.ID, Version: 3, Type: posthouse.EventSent, From: posthouse.Sending, To: posthouse.Sent, At: at},
	}}
}

func (b *book) seal(t *testing.T, keep time.Duration, now time.Time) {
	t.Helper()
	if err := (chain.Sealer{Book: b, After: time.Minute, Keep: keep, Log: slog.New(slog.DiscardHandler)}).Seal(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

func (b *book) check(t *testing.T, now time.Time, head string) (found []string) {
	t.Helper()
	_, err := chain.Check(t.Context(), b, now, head, func(f chain.Finding) error {
		if f.What != "" {
			found = append(found, f.Subject+": "+f.What)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func week() *book {
	b := &book{}
	for minute := range 10 {
		b.whole = append(b.whole, sent(minute))
	}
	return b
}

func TestWhatIsSealedAnewTakesTheOlderBodiesAway(t *testing.T) {
	t.Parallel()
	b := week()
	for _, later := range []time.Duration{5 * time.Minute, 20 * time.Minute, 2 * time.Hour, 48 * time.Hour, 40 * 24 * time.Hour} {
		b.seal(t, -1, noon.Add(later))
		if found := b.check(t, noon.Add(later), ""); len(found) != 0 {
			t.Errorf("after %s: %v", later, found)
		}
	}
	bodies := 0
	for _, c := range b.links {
		if c.Body != "" {
			bodies += c.Messages
		}
	}
	if bodies != len(b.whole) {
		t.Errorf("%d messages stand in bodies, want each of %d once", bodies, len(b.whole))
	}
	if links := len(b.links); links < 16 {
		t.Errorf("there are %d links", links)
	}
}

// A server goes on sealing while its chain is read: what its next pass takes away is not gone.
func TestAChainIsWholeWhileItIsSealed(t *testing.T) {
	t.Parallel()
	b := week()
	b.seal(t, -1, noon.Add(5*time.Minute))
	later := noon.Add(2 * time.Hour)
	links := len(b.links)
	b.meanwhile = func() { b.seal(t, -1, later) }
	if found := b.check(t, later, ""); len(found) != 0 || len(b.links) == links {
		t.Errorf("%d links became %d: %v", links, len(b.links), found)
	}
}

func TestWhatIsOldMayBeGone(t *testing.T) {
	t.Parallel()
	b := week()
	keep := 30 * 24 * time.Hour
	b.seal(t, keep, noon.Add(time.Hour))
	gone := b.whole[4]
	b.whole = slices.Delete(b.whole, 4, 5)
	if found := b.check(t, noon.Add(24*time.Hour), ""); len(found) != 1 || !strings.HasPrefix(found[0], gone.ID) {
		t.Errorf("a young message that is gone: %v", found)
	}
	if found := b.check(t, noon.Add(keep+time.Hour), ""); len(found) != 0 {
		t.Errorf("one that is older than what is kept: %v", found)
	}
	b.whole[0].Message.Tenant = "other"
	if found := b.check(t, noon.Add(keep+time.Hour), ""); len(found) != 1 {
		t.Errorf("one that is old, there and changed: %v", found)
	}
	b = week()
	b.seal(t, -1, noon.Add(time.Hour))
	b.seal(t, keep, noon.Add(2*time.Hour))
	b.whole = nil
	if found := b.check(t, noon.Add(keep+3*time.Hour), ""); len(found) != 0 {
		t.Errorf("all was kept once, and is not any more: %v", found)
	}
}

func TestABodyThatIsGoneIsFound(t *testing.T) {
	t.Parallel()
	b := week()
	b.seal(t, -1, noon.Add(20*time.Minute))
	b.links[1].Body = ""
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 1 || !strings.HasPrefix(found[0], "link 2:") {
		t.Errorf("got %v", found)
	}
}

func TestAnAttemptThatIsUnderWayIsSealedLater(t *testing.T) {
	t.Parallel()
	b := week()
	flying := &b.whole[3]
	flying.Deliveries[0].State = posthouse.Sending
	flying.Events = flying.Events[:2]
	b.seal(t, -1, noon.Add(20*time.Minute))
	flying.Events[1].LeaseUntil = noon.Add(time.Hour) // renewed
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 0 {
		t.Errorf("its lease was renewed: %v", found)
	}
	b.whole[3] = sent(3)
	b.seal(t, -1, noon.Add(2*time.Hour))
	b.whole[3].Events[2].Ref = "other"
	if found := b.check(t, noon.Add(2*time.Hour), ""); len(found) != 1 {
		t.Errorf("its result was changed: %v", found)
	}
}

func TestWhatComesAfterASealIsNoChange(t *testing.T) {
	t.Parallel()
	b := week()
	b.seal(t, -1, noon.Add(20*time.Minute))
	w := &b.whole[3]
	w.Events = append(w.Events, posthouse.Event{Delivery: w.Deliveries[0].ID, Version: 4, Type: posthouse.EventReceipt, From: posthouse.Sent, To: posthouse.Delivered})
	w.Deliveries[0].State = posthouse.Delivered
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 0 {
		t.Errorf("a receipt came: %v", found)
	}
}

// A new epoch holds what was pending when the copy was made: its policy becomes hold, which the event of its accept shows too. Nothing of that is
// a change of what was sealed, for the check and for a proof; another recipient, or another accept, is.
func TestANewPolicyIsNoChange(t *testing.T) {
	t.Parallel()
	b := week()
	w := &b.whole[3]
	d := &w.Deliveries[0]
	d.State, d.Version, d.OnUnknown = posthouse.Pending, 1, posthouse.Retry
	w.Events = []posthouse.Event{{Delivery: d.ID, Version: 1, Type: posthouse.EventAccept, To: posthouse.Pending, Policy: posthouse.Retry}}
	b.seal(t, -1, noon.Add(20*time.Minute))
	d.State, d.Version, d.OnUnknown = posthouse.Unknown, 2, posthouse.Hold
	w.Events[0].Policy = posthouse.Hold
	w.Events = append(w.Events, posthouse.Event{Delivery: d.ID, Version: 2, Type: posthouse.EventEpochHold, From: posthouse.Pending, To: posthouse.Unknown})
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 0 {
		t.Errorf("a new epoch held it: %v", found)
	}
	e, err := chain.EvidenceOf(t.Context(), b, w, noon.Add(20*time.Minute), -1)
	if err != nil || len(e.Differences) > 0 || len(e.Stories) != 1 || e.Stories[0].Text == "" || e.Stories[0].Sealed != 1 {
		t.Errorf("its evidence: %+v, %v", e.Stories, err)
	}
	w.Events[0].Epoch = 7
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 1 {
		t.Errorf("its accept was changed: %v", found)
	}
}

// The row of a delivery is read before its events: one that comes between is sealed by the next pass, and not beside the row of before it.
func TestAnEventBetweenARowAndItsEventsIsSealedLater(t *testing.T) {
	t.Parallel()
	b := week()
	w := &b.whole[3]
	w.Events = append(w.Events, posthouse.Event{Delivery: w.Deliveries[0].ID, Version: 4, Type: posthouse.EventReceipt, From: posthouse.Sent, To: posthouse.Delivered})
	b.seal(t, -1, noon.Add(20*time.Minute))
	w.Deliveries[0].State, w.Deliveries[0].Version = posthouse.Delivered, 4
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 0 {
		t.Errorf("a receipt came while it was sealed: %v", found)
	}
	w.Events[2].Ref = "other"
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 1 {
		t.Errorf("its result was changed: %v", found)
	}
}

func TestAChainThatWasMadeAnewLacksTheLinkThatWasKept(t *testing.T) {
	t.Parallel()
	b := week()
	b.seal(t, -1, noon.Add(20*time.Minute))
	last, _, _ := b.LastCheckpoint(t.Context(), chain.AnyPass)
	b.whole[3].Message.Tenant, b.links = "other", nil
	b.seal(t, -1, noon.Add(20*time.Minute))
	if found := b.check(t, noon.Add(20*time.Minute), ""); len(found) != 0 {
		t.Errorf("without it: %v", found)
	}
	if found := b.check(t, noon.Add(20*time.Minute), chain.Head(last)); len(found) != 1 {
		t.Errorf("with it: %v", found)
	}
}

// A key is as it was sealed until it ends, or the job it stands for is deleted. What is added later is no finding.
func TestTheChainSealsKeys(t *testing.T) {
	t.Parallel()
	now := noon.Add(time.Hour)
	first := sent(0)
	key := work.Key{ID: first.ID, Tenant: "t", Scope: "/v1/messages", Name: "k", BodyHash: "h", Answer: "[]", CreatedAt: noon, ExpiresAt: noon.Add(24 * time.Hour)}
	other := key
	other.Name, other.ExpiresAt = "other", noon.Add(48*time.Hour)
	for name, c := range map[string]struct {
		keys []work.Key
		at   time.Time
		want int
	}{
		"as they were":         {[]work.Key{key, other}, now, 0},
		"one more":             {[]work.Key{key, other, {ID: first.ID, Name: "new"}}, now, 0},
		"one is gone":          {[]work.Key{other}, now, 1},
		"one is gone and over": {[]work.Key{other}, noon.Add(25 * time.Hour), 0},
		"both are gone":        {nil, now, 2},
		"its job was deleted":  {[]work.Key{{ID: first.ID, Freed: true}}, now, 0},
		"a changed answer":     {[]work.Key{{ID: key.ID, Tenant: "t", Scope: key.Scope, Name: "k", BodyHash: "h", Answer: "[1]", CreatedAt: noon, ExpiresAt: key.ExpiresAt}, other}, now, 1},
		"a later end":          {[]work.Key{{ID: key.ID, Tenant: "t", Scope: key.Scope, Name: "k", BodyHash: "h", Answer: "[]", CreatedAt: noon, ExpiresAt: noon.Add(99 * time.Hour)}, other}, now, 1},
	} {
		b := &book{whole: []work.Whole{first}, keys: []work.Key{key, other}}
		b.seal(t, -1, now)
		b.keys = c.keys
		if found := b.check(t, c.at, ""); len(found) != c.want {
			t.Errorf("%s: it finds %q, want %d", name, found, c.want)
		}
	}
}

// An acknowledgement is as it was sealed until it is older than what is kept. One that comes after the seal is no finding.
func TestTheChainSealsAcknowledgements(t *testing.T) {
	t.Parallel()
	now, keep := noon.Add(time.Hour), 30*24*time.Hour
	first := sent(0)
	ack := func(id, by string) posthouse.Notification {
		return posthouse.Notification{ID: id, Tenant: "t", Ack: &posthouse.Acknowledgement{By: by, Via: posthouse.AckAPI, At: noon}}
	}
	one, two := posthouse.DeliveryID(first.ID, 1), posthouse.DeliveryID(first.ID, 2)
	later := ack(one, "li.na")
	later.Ack.At = noon.Add(time.Minute)
	for name, c := range map[string]struct {
		acks []posthouse.Notification
		at   time.Time
		want string
	}{
		"as it was":          {[]posthouse.Notification{ack(one, "li.na")}, now, ""},
		"one more":           {[]posthouse.Notification{ack(one, "li.na"), ack(two, "wang.wu")}, now, ""},
		"somebody else":      {[]posthouse.Notification{ack(one, "wang.wu")}, now, one + ": its acknowledgement is not what was sealed"},
		"another time":       {[]posthouse.Notification{later}, now, one + ": its acknowledgement is not what was sealed"},
		"it is gone":         {nil, now, one + ": its acknowledgement was sealed and is not there"},
		"it is gone and old": {nil, noon.Add(keep + time.Hour), ""},
	} {
		b := &book{whole: []work.Whole{first}, acks: []posthouse.Notification{ack(one, "li.na")}}
		b.seal(t, keep, now)
		b.acks = c.acks
		if found := strings.Join(b.check(t, c.at, ""), "; "); found != c.want {
			t.Errorf("%s: it finds %q, want %q", name, found, c.want)
		}
	}
}

// A row is as its last sealed event left it, as long as none follows.
func TestTheChainSealsWhatEventsLeave(t *testing.T) {
	t.Parallel()
	now := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		change func(*work.Whole)
		want   int
	}{
		"nothing":        {func(*work.Whole) {}, 0},
		"its policy":     {func(w *work.Whole) { w.Deliveries[0].OnUnknown = posthouse.AssumeSent }, 1},
		"when it is due": {func(w *work.Whole) { w.Deliveries[0].DueAt = now }, 1},
		"who fetches it": {func(w *work.Whole) { w.Deliveries[0].Pulled = true }, 0},
		"and an event says": {func(w *work.Whole) {
			d := &w.Deliveries[0]
			d.State, d.Version = posthouse.Delivered, 4
			w.Events = append(slices.Clone(w.Events), posthouse.Event{Delivery: d.ID, Version: 4, Type: posthouse.EventReceipt, From: posthouse.Sent, To: posthouse.Delivered, At: now})
		}, 0},
	} {
		b := &book{whole: []work.Whole{sent(0)}}
		b.seal(t, -1, now)
		c.change(&b.whole[0])
		if found := b.check(t, now, ""); len(found) != c.want {
			t.Errorf("%s: it finds %q, want %d", name, found, c.want)
		}
	}
}
