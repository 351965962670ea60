package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// digests stores a digest.
func (h *house) digests(d posthouse.Digest) {
	h.Helper()
	_, err := h.api.Digests.Put(h.Context(), d)
	h.must(err)
}

// gathers hands in messages of a kind to a user that name a digest, and returns their deliveries.
func (h *house) gathers(digest, kind, user string, texts ...string) (ids []string) {
	h.Helper()
	var drafts []posthouse.Draft
	for _, text := range texts {
		drafts = append(drafts, posthouse.Draft{Channel: "a", Digest: digest, Kind: kind, To: []posthouse.Recipient{{User: user}}, Content: &posthouse.Content{Text: text}})
	}
	sent, err := h.api.Messages.Send(h.Context(), drafts...)
	h.must(err)
	for _, a := range sent.Accepted {
		ids = append(ids, a.Deliveries[0].ID)
	}
	return ids
}

// gatheredBy is the collection of a delivery.
func (h *house) gatheredBy(delivery string) posthouse.Collection {
	h.Helper()
	c, err := h.api.Collections.Get(h.Context(), h.delivery(delivery).Collection)
	h.must(err)
	return c
}

// leaves has the collection of a delivery leave now.
func (h *house) leaves(delivery string) {
	h.Helper()
	_, err := h.api.Collections.Leave(h.Context(), h.delivery(delivery).Collection)
	h.must(err)
}

// become waits until deliveries are in a state.
func (h *house) become(state posthouse.State, ids ...string) {
	h.Helper()
	for _, id := range ids {
		h.eventually(id+" is "+string(state), func() bool { return h.delivery(id).State == state })
	}
}

func TestTwentyAlertsAreOnePost(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "alerts", Window: hour, Max: 20})
		var texts, want []string
		for i := range 20 {
			texts = append(texts, fmt.Sprintf("disk %d", i+1))
			want = append(want, fmt.Sprintf("%d. disk %d", i+1, i+1))
		}
		members := h.gathers("alerts", "disk", "robot", texts...) // the 20th has them leave
		other := h.gathers("alerts", "disk", "robot", "the next")
		h.become(posthouse.Sent, members...)
		if got := p.texts("a"); len(got) != 1 || got[0] != strings.Join(want, "\n") {
			h.Errorf("what came: %q, want one post with all 20", got)
		}
		c := h.gatheredBy(members[0])
		if c.State != posthouse.CollectionSettled || c.Outcome != posthouse.Sent || len(c.Members) != 20 || c.Digest != "alerts" || c.Kind != "disk" {
			h.Errorf("the collection: %+v", c)
		}
		lead := h.delivery(c.Delivery)
		if lead.Collection != c.ID || lead.Gathered || lead.Attempts != 1 {
			h.Errorf("its delivery: %+v", lead)
		}
		if d := h.delivery(other[0]); d.State != posthouse.Pending || !d.Gathered || d.Collection == c.ID {
			h.Errorf("the message after a full collection: %+v, want it in the next one", d)
		}
		page, err := h.api.Collections.List(h.Context(), posthouse.CollectionWaiting, client.Filter{})
		if err != nil || len(page.Items) != 1 {
			h.Errorf("those that wait: %+v, %v", page.Items, err)
		}
	})
}

// What has one key leaves together: one recipient, one channel, and the value of the expression.
func TestAKeyIsThePersonTheChannelAndTheExpression(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		h.digests(posthouse.Digest{Name: "all", Window: hour, By: `user == "u1" ? "one" : kind`, Line: "${kind}: ${text}"})
		first := h.gathers("d", "k1", "u1", "x")
		for name, other := range map[string]string{
			"another kind":   h.gathers("d", "k2", "u1", "x")[0],
			"another person": h.gathers("d", "k1", "u2", "x")[0],
			"another digest": h.gathers("all", "k1", "u1", "x")[0],
		} {
			if h.delivery(other).Collection == h.delivery(first[0]).Collection {
				h.Errorf("%s is in the same collection", name)
			}
		}
		again := h.gathers("d", "k1", "u1", "y")
		mixed := h.gathers("all", "k2", "u1", "y")
		h.leaves(again[0])
		h.leaves(mixed[0])
		h.become(posthouse.Sent, first[0], again[0], mixed[0])
		got := p.texts("a")
		slices.Sort(got)
		if want := []string{"1. x\n2. y", "k1: x\nk2: y"}; !slices.Equal(got, want) {
			h.Errorf("got %q, want %q", got, want)
		}
	})
}

// Rules by kind hold in a digest of several kinds: what a user has switched off is not in its text, what may not be switched off comes all the
// same, and a cap counts its kind alone. Kinds without a rule of their own stay together.
func TestADigestOfSeveralKindsHeedsTheRulesOfEach(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "day", Window: hour, By: `"all"`})
		_, err := h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{MandatoryKinds: []string{"alarm"}, Caps: []posthouse.Cap{{Max: 1, Per: hour, Kinds: []string{"ads"}, Then: posthouse.CapSuppress}}})
		h.must(err)
		for _, user := range []string{"u1", "u2", "u3"} {
			_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: user})
			h.must(err)
		}
		h.chooses("u1", wire.PutPreferences{Nothing: true})
		h.chooses("u2", wire.PutPreferences{Off: []posthouse.Unwanted{{Kind: "news"}}})
		nothing := slices.Concat(h.gathers("day", "news", "u1", "one"), h.gathers("day", "alarm", "u1", "fire"), h.gathers("day", "ticket", "u1", "two"))
		some := slices.Concat(h.gathers("day", "ticket", "u2", "three"), h.gathers("day", "report", "u2", "four"), h.gathers("day", "news", "u2", "five"))
		capped := slices.Concat(h.gathers("day", "ads", "u3", "six"), h.gathers("day", "ticket", "u3", "eight"), h.gathers("day", "ads", "u3", "seven"))
		for _, id := range []string{nothing[0], some[0], capped[0]} {
			h.leaves(id)
		}
		h.become(posthouse.Suppressed, nothing[0], nothing[2], some[2], capped[2])
		h.become(posthouse.Sent, nothing[1], some[0], some[1], capped[0], capped[1])
		got := p.texts("a")
		slices.Sort(got)
		if want := []string{"1. three\n2. four", "eight", "fire", "six"}; !slices.Equal(got, want) {
			h.Errorf("what came: %q, want %q", got, want)
		}
	})
}

// The lines of a digest are in the language of its recipient. A message whose deadline comes before the end of quiet hours is suppressed at
// once, as without a digest: when it is accepted, or when its collection is composed.
func TestADigestHeedsItsReader(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "duty", Language: "zh", Text: "${n}值班", Texts: map[string]posthouse.TemplateText{"en": {Text: "${n} on duty"}}})
		h.must(err)
		for user, language := range map[string]string{"u1": "en", "u2": ""} {
			_, err = h.api.Users.Put(h.Context(), posthouse.User{ID: user, Language: language})
			h.must(err)
		}
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		sends := func(user, n string, deadline time.Time) string {
			sent, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "a", Digest: "d", Kind: "k", Template: "duty", Payload: []byte(`{"n":"` + n + `"}`), Deadline: deadline, To: []posthouse.Recipient{{User: user}}})
			h.must(err)
			return sent.Accepted[0].Deliveries[0].ID
		}
		ids := []string{sends("u1", "N0", time.Time{}), sends("u1", "N1", time.Time{}), sends("u2", "N2", time.Time{}), sends("u2", "N3", time.Time{})}
		h.leaves(ids[0])
		h.leaves(ids[2])
		h.become(posthouse.Sent, ids...)
		got := p.texts("a")
		slices.Sort(got)
		if want := []string{"1. N0 on duty\n2. N1 on duty", "1. N2值班\n2. N3值班"}; !slices.Equal(got, want) {
			h.Errorf("what came: %q, want %q", got, want)
		}

		soon := time.Now().Add(3 * time.Hour)
		before := sends("u1", "N4", soon)
		zone := time.FixedZone("", 0)
		quiet := posthouse.QuietHours{From: time.Now().In(zone).Add(-time.Hour).Format("15:04"), To: time.Now().In(zone).Add(6 * time.Hour).Format("15:04"), TimeZone: "UTC"}
		_, err = h.api.Tenants.Put(h.Context(), "default", wire.PutTenant{QuietHours: []posthouse.QuietHours{quiet}})
		h.must(err)
		mate := sends("u1", "N5", time.Time{})
		h.eventually("what came in quiet hours is suppressed", func() bool {
			d := h.delivery(sends("u1", "N6", soon))
			h.eventually("it is looked at", func() bool { d = h.delivery(d.ID); return !d.State.Open() || d.Gathered })
			return d.State == posthouse.Suppressed && d.Reason == "quiet_hours"
		})
		sends("u1", "N7", time.Time{})
		h.leaves(mate)
		h.eventually("explain says until when its digest waits", func() bool {
			x, err := h.api.Deliveries.Explain(h.Context(), mate)
			h.must(err)
			return len(x.Waits) > 1 && x.Waits[1].Cause == "quiet_hours" && x.Waits[0].Until.Equal(x.Waits[1].Until) && strings.Contains(x.Summary, "it leaves with the delivery")
		})
		h.become(posthouse.Suppressed, before)
		if d := h.delivery(before); d.Reason != "quiet_hours" {
			h.Errorf("what waited in the digest is suppressed for %q", d.Reason)
		}
	})
}

// One that is alone leaves as it is, unless the digest says otherwise; a critical one does not wait at all, and a duplicate is in no text.
func TestWhatIsAloneLeavesAsItIs(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		h.digests(posthouse.Digest{Name: "always", Window: hour, Always: true})
		draft := posthouse.Draft{Channel: "a", Digest: "d", DedupKey: "once", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "alone"}}
		sent, err := h.api.Messages.Send(h.Context(), draft, draft)
		h.must(err)
		if sent.Accepted[1].DuplicateOf == "" {
			h.Errorf("the second is no duplicate: %+v", sent.Accepted[1])
		}
		alone := posthouse.DeliveryID(sent.Accepted[0].ID, 1)
		always := h.gathers("always", "k", "u2", "by the template")
		draft.DedupKey, draft.Critical, draft.Content = "", true, &posthouse.Content{Text: "now"}
		sent, err = h.api.Messages.Send(h.Context(), draft)
		h.must(err)
		if got := h.delivery(sent.Accepted[0].Deliveries[0].ID).Priority; got != posthouse.High {
			h.Errorf("a critical message is of priority %s, want high", got)
		}
		h.eventually("the critical one came", func() bool { return slices.Equal(p.texts("a"), []string{"now"}) })
		h.leaves(alone)
		h.leaves(always[0])
		h.become(posthouse.Sent, alone, always[0])
		got := p.texts("a")
		slices.Sort(got)
		if want := []string{"1. by the template", "alone", "now"}; !slices.Equal(got, want) {
			h.Errorf("got %q, want %q", got, want)
		}
		if c := h.gatheredBy(alone); c.State != posthouse.CollectionAlone || c.Delivery != "" {
			h.Errorf("its collection: %+v", c)
		}
	})
}

// What is cancelled before its digest leaves is not in the text, also where the text was made already. Once it has begun, no member leaves it.
func TestAMemberLeavesUntilItsDigestBegins(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		members := h.gathers("d", "k", "u1", "one", "two", "three", "four")
		cancel := func(id string) {
			h.Helper()
			_, err := h.api.Messages.Cancel(h.Context(), posthouse.MessageID(id))
			h.must(err)
		}
		cancel(members[0])
		h.pauses("a")
		h.leaves(members[1])
		h.eventually("its delivery waits", func() bool { return h.gatheredBy(members[1]).Delivery != "" })
		first := h.gatheredBy(members[1]).Delivery
		cancel(members[1])
		h.eventually("another delivery waits", func() bool { c := h.gatheredBy(members[1]); return c.Delivery != "" && c.Delivery != first })
		if d := h.delivery(first); d.State != posthouse.Cancelled || d.Reason != "composed_anew" {
			h.Errorf("the first text's delivery: %s (%s)", d.State, d.Reason)
		}
		p.says("a", channel.Result{Class: posthouse.ClassUnknown, Error: "no answer"})
		h.resumes("a")
		lead := h.gatheredBy(members[2]).Delivery
		h.become(posthouse.Unknown, lead, members[2], members[3])
		_, err := h.api.Messages.Cancel(h.Context(), posthouse.MessageID(members[2]))
		if d := h.delivery(members[2]); d.State != posthouse.Unknown {
			h.Errorf("a cancel of what may have arrived made it %s (%v)", d.State, err)
		}
		_, err = h.api.Deliveries.Resolve(h.Context(), lead, "sent")
		h.must(err)
		h.become(posthouse.Sent, members[2], members[3])
		h.become(posthouse.Cancelled, members[0], members[1])
		if got := p.texts("a"); len(got) != 1 || got[0] != "1. three\n2. four" {
			h.Errorf("got %q, want the two that stayed", got)
		}
	})
}

// Members share what becomes of their digest: a failure, an end by a person, a retry that is one delivery.
func TestMembersShareTheFateOfTheirDigest(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		p.says("a", refusal)
		failed := h.gathers("d", "failed", "u1", "one", "two")
		h.leaves(failed[0])
		h.become(posthouse.Failed, failed...)
		if d := h.delivery(failed[1]); d.Reason != "recipient" || d.Error != "refused for good" || d.Attempts != 0 {
			h.Errorf("a member of what failed: %+v", d)
		}
		h.replaysOnce(p, failed)
		p.says("a", channel.Result{Class: posthouse.ClassUnknown, Error: "no answer"})
		doubt := h.gathers("d", "doubt", "u1", "one", "two")
		h.leaves(doubt[0])
		h.become(posthouse.Unknown, doubt...)
		if _, err := h.api.Deliveries.Resolve(h.Context(), doubt[1], "sent"); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "decide about that one") {
			h.Errorf("a decision about a member: %v, want a conflict that names its collection", err)
		}
		if would, err := h.api.Decisions.Begin(h.Context(), wire.Decide{Outcome: "not_sent", Selected: wire.Selected{Channel: "a"}, DryRun: true}); err != nil || would.Matched != 3 || would.Shared != 2 {
			h.Errorf("a count before a decision: %+v, %v, want three of which two share", would, err)
		}
		counted, err := h.api.Deliveries.ResolveAll(h.Context(), wire.ResolveAll{Channel: "a", Outcome: "not_sent", DryRun: true})
		h.must(err)
		done, err := h.api.Deliveries.ResolveAll(h.Context(), wire.ResolveAll{Channel: "a", Outcome: "not_sent", Confirm: counted.Confirm})
		if err != nil || done.Matched != 3 || done.Resolved != 1 {
			h.Errorf("a decision about all: %+v, %v, want one of the three", done, err)
		}
		h.become(posthouse.Failed, doubt...)
		h.pauses("a")
		ended := h.gathers("d", "ended", "u1", "one", "two")
		h.leaves(ended[0])
		h.eventually("its delivery waits", func() bool { return h.gatheredBy(ended[0]).Delivery != "" })
		_, err = h.api.Messages.Cancel(h.Context(), posthouse.MessageID(h.gatheredBy(ended[0]).Delivery))
		h.must(err)
		h.become(posthouse.Cancelled, ended...)
		var drafts []posthouse.Draft // in one request: a deadline that is near has the collection leave at once
		for _, text := range []string{"late", "one", "two"} {
			drafts = append(drafts, posthouse.Draft{Channel: "a", Digest: "d", Kind: "late", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: text}})
		}
		drafts[0].Deadline = time.Now().Add(3 * time.Second)
		sent, err := h.api.Messages.Send(h.Context(), drafts...)
		h.must(err)
		var stays []string
		for _, a := range sent.Accepted[1:] {
			stays = append(stays, a.Deliveries[0].ID)
		}
		h.become(posthouse.Expired, posthouse.DeliveryID(sent.Accepted[0].ID, 1))
		p.says("a", channel.Result{Class: posthouse.ClassOK})
		h.resumes("a")
		h.become(posthouse.Sent, stays...)
		if got := p.texts("a"); got[len(got)-1] != "1. one\n2. two" {
			h.Errorf("the last text is %q, want it without what has expired", got[len(got)-1])
		}
	})
}

// A text that is longer than its provider takes leaves as several, and one message that has no room in any text as it is.
func TestATextThatIsTooLongIsCut(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		h.digests(posthouse.Digest{Name: "d", Window: hour})
		long := strings.Repeat("x", 1000)
		members := h.gathers("d", "disk", "u1", "1 "+long, "2 "+long, "3 "+long, "4 "+long, "5 "+long)
		// The provider says for itself that it takes no more than one of these.
		p.answers("a", func(out channel.Outgoing) channel.Result {
			if strings.Count(out.Content.Text, "w") > 1 {
				return channel.Result{Class: posthouse.ClassContent, Code: "TOO_LONG", Error: "the text is too long"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		words := h.gathers("d", "word", "u1", "w1", "w2", "w3")
		h.leaves(members[0])
		h.leaves(words[0])
		h.become(posthouse.Sent, members...)
		h.become(posthouse.Sent, words...)
		var took []string
		for _, text := range p.texts("a") {
			took = append(took, strings.ReplaceAll(text, long, "…"))
		}
		slices.Sort(took)
		want := []string{"1. 1 …\n2. 2 …\n3. 3 …", "1. 4 …\n2. 5 …", "1. w1\n2. w2\n3. w3", "w1", "w2", "w3"}
		if !slices.Equal(took, want) {
			h.Errorf("got %q, want %q", took, want)
		}
		first, last := h.gatheredBy(members[0]), h.gatheredBy(members[4])
		if first.ID == last.ID || len(first.Members) != 3 || len(last.Members) != 2 || first.State != posthouse.CollectionSettled || last.State != posthouse.CollectionSettled {
			h.Errorf("the collections: %+v and %+v, want two that are settled", first, last)
		}
		if d := h.delivery(words[2]); d.Attempts != 1 {
			h.Errorf("the last, which leaves as it is: %+v", d)
		}
	})
}

// replaysOnce replays all of a channel, after which each of the members of one digest that failed has come once more.
func (h *house) replaysOnce(p *scripted, members []string) {
	h.Helper()
	p.says("a", channel.Result{Class: posthouse.ClassOK})
	lead := h.gatheredBy(members[0]).Delivery
	if _, err := h.api.Deliveries.Replay(h.Context(), members[0], false); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), lead) {
		h.Errorf("a replay of a member: %v, want a conflict that names %s", err, lead)
	}
	before := len(p.texts("a"))
	if would, err := h.api.Deliveries.ReplayAll(h.Context(), wire.ReplayAll{Channel: "a", DryRun: true}); err != nil || would.Matched != len(members)+1 || would.Shared != len(members) {
		h.Errorf("a look at a replay of all: %+v, %v, want %d of which %d share", would, err, len(members)+1, len(members))
	}
	if would, err := h.api.Decisions.Begin(h.Context(), wire.Decide{Outcome: wire.OutcomeReplay, Selected: wire.Selected{Channel: "a"}, DryRun: true}); err != nil || would.Matched != len(members)+1 || would.Shared != len(members) {
		h.Errorf("a count before a decision to replay all: %+v, %v, want %d of which %d share", would, err, len(members)+1, len(members))
	}
	all, err := h.api.Deliveries.ReplayAll(h.Context(), wire.ReplayAll{Channel: "a"})
	if err != nil || all.Matched != len(members)+1 || all.Replayed != 1 || all.Shared != len(members) {
		h.Errorf("a replay of all: %+v, %v, want one of %d", all, err, len(members)+1)
	}
	for _, r := range all.Replays {
		if r.ID != "" {
			h.become(posthouse.Sent, r.ID)
		}
	}
	for id, want := range map[string]string{lead: "It was sent again by the delivery ", members[1]: "That text was sent again by the delivery "} {
		x, err := h.api.Deliveries.Explain(h.Context(), id)
		h.must(err)
		if n := len(x.Notes); n == 0 || !strings.HasPrefix(x.Notes[n-1], want) || !strings.HasSuffix(x.Notes[n-1], ", which is sent.") || id != lead && !strings.Contains(x.Notes[0], lead) {
			h.Errorf("of %s the notes are %q, want %q and that it is sent, and of a member the delivery %s", id, x.Notes, want, lead)
		}
	}
	if got := p.texts("a")[before:]; len(got) != 1 {
		h.Errorf("after the replay came %q, want the digest once", got)
	}
}

func TestADigestIsRefusedByName(t *testing.T) {
	t.Parallel()
	h := open(t, databases[0].dsn(t))
	for name, text := range map[string]string{"odd": "${nope} ${count}", "even": "${count}: ${list}"} {
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: name, Text: text})
		h.must(err)
	}
	for path, d := range map[string]posthouse.Digest{
		"window":    {Name: "d"},
		"cron":      {Name: "d", Window: hour, Cron: "0 18 * * *"},
		"max":       {Name: "d", Window: hour, Max: 101},
		"by":        {Name: "d", Window: hour, By: "map(payload, 1)"},
		"template":  {Name: "d", Window: hour, Template: "none"},
		"template ": {Name: "d", Window: hour, Template: "odd"},
		"time_zone": {Name: "d", Cron: "0 18 * * *", TimeZone: "Nowhere"},
		"cron ":     {Name: "d", Cron: "0 9 31 4 *"},
		"by ":       {Name: "d", Window: hour, By: "paylod.cluster"},
		"line":      {Name: "d", Window: hour, Line: "${"},
	} {
		_, err := h.api.Digests.Put(h.Context(), d)
		if got := paths(err); !slices.Contains(got, strings.TrimSpace(path)) {
			h.Errorf("%+v: problems of %v, want one of %s (%v)", d, got, path, err)
		}
	}
	if _, err := h.api.Digests.Put(h.Context(), posthouse.Digest{Name: "d", Cron: "99 * * * *", Max: 101, Template: "none"}); !slices.Equal(paths(err), []string{"cron", "max", "template"}) {
		h.Errorf("of three faults %v are told", err)
	}
	_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{Channel: "a", Digest: "none", Sensitive: true, To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "x"}})
	if got := paths(err); !slices.Contains(got, "messages[0].sensitive") {
		h.Errorf("a sensitive message: %v (%v)", got, err)
	}

	h.digests(posthouse.Digest{Name: "d", Window: hour, Template: "even"})
	if _, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "even", Text: "${nope}"}); !slices.Contains(paths(err), "text") || !strings.Contains(err.Error(), "${nope}") {
		h.Errorf("a template that a digest uses asks for what no digest has: %v", err)
	}
	if err := h.api.Templates.Delete(h.Context(), "even"); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "the digest d") {
		h.Errorf("a template that a digest uses is deleted: %v", err)
	}
}
