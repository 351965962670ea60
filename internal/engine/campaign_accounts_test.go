package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// CAMP-7, FLEET-5: members do not wait for an account that is refused: they go by another one at once, which is said of each and counted,
// and the refusal burns none of their tries. What every account is refused for waits.
func TestMembersGoByAnotherAccountAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		refuses string // an account, or all
		class   posthouse.Class
		profile string
	}{
		"its rate":                 {"a", posthouse.ClassRate, ""},
		"its rate, which counts":   {"a", posthouse.ClassRate, "wecom"},
		"its secret":               {"a", posthouse.ClassAuth, "wecom"},
		"its quota or permissions": {"a", posthouse.ClassAccount, ""},
		"all are refused":          {"all", posthouse.ClassRate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
				began := time.Now()
				answer := func(out channel.Outgoing) channel.Result {
					if (out.Account == c.refuses || c.refuses == "all") && time.Since(began) < 50*time.Second {
						return channel.Result{Class: c.class, Code: "45009", After: time.Minute}
					}
					return channel.Result{Class: posthouse.ClassOK}
				}
				a, b := d.twoAccounts(posthouse.ChannelSettings{Profile: c.profile, MaxInflight: 8})
				a.answer, b.answer = answer, answer
				d.make(60, wire.CampaignDraft{SegmentSize: 20})
				d.act(campaign.Start)
				d.pass(10 * time.Second)
				if c.refuses == "all" {
					d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Unsent: 60}})
					d.pass(10 * time.Minute)
				}
				got := d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Sent: 60}})
				calls, refused := len(a.sent())+len(b.sent()), map[string]bool{}
				for _, out := range a.sent() {
					if time.Since(began) < 50*time.Second {
						refused[out.Recipient.Address] = true
					}
				}
				if c.refuses == "all" {
					if calls > 60+4*8 {
						t.Errorf("%d calls for 60 members of two accounts that are refused", calls)
					}
					return
				}
				if len(refused) == 0 || calls != 60+len(a.sent()) {
					t.Fatalf("%d calls, %d of them by the refused account", calls, len(a.sent()))
				}
				d.movedAway(got, refused, c.class)
			})
		})
	}
}

// movedAway checks what is said of members who went from the account a to b.
func (d *drive) movedAway(got wire.Campaign, refused map[string]bool, class posthouse.Class) {
	d.Helper()
	n := int64(0)
	for _, r := range got.Progress.Reasons {
		if r.Outcome == "sent" && r.Code == "FAILOVER" && r.Class == class {
			n += r.Members
		}
	}
	if n != int64(len(refused)) {
		d.Errorf("%d are said to have gone by another account, want %d: %+v", n, len(refused), got.Progress.Reasons)
	}
	for i := range 60 {
		to := "o00" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		m, err := d.desk.Who(d.Context(), d.tenant, "spring", to)
		if err != nil || m.Account != "b" {
			d.Fatalf("%s is %+v, %v; want it sent by b", to, m, err)
		}
		if moved := m.Reason != nil && m.Reason.Code == "FAILOVER" && strings.Contains(m.Reason.Error, "account a was refused (45009)"); moved != refused[to] {
			d.Errorf("%s, who was refused by a: %v, has the reason %+v", to, refused[to], m.Reason)
		}
	}
}

// CAMP-7: members who were refused when a quota had ended are sent to as soon as a person resumes the channel, and not at midnight: it is
// the account's gate that waits, not they.
func TestResumingAChannelReleasesTheMembersItsQuotaRefused(t *testing.T) {
	hours(t)
	for _, profile := range []string{"", "wecom"} {
		t.Run("profile "+profile, func(t *testing.T) {
			campaigning(t, posthouse.ChannelSettings{Profile: profile, MaxInflight: 8}, func(d *drive) {
				refuse := true
				d.provider.decide(func(channel.Outgoing) channel.Result {
					if refuse {
						return channel.Result{Class: posthouse.ClassRate, Code: "45009", After: 9 * time.Hour}
					}
					return channel.Result{Class: posthouse.ClassOK}
				})
				d.make(60, wire.CampaignDraft{SegmentSize: 20})
				d.act(campaign.Start)
				d.pass(10 * time.Minute)
				d.stands(posthouse.CampaignRunning, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Unsent: 60}})
				calls := len(d.provider.sent())
				if calls == 0 {
					d.Fatal("nobody was refused")
				}
				d.provider.mu.Lock()
				refuse = false
				d.provider.mu.Unlock()
				d.pass(time.Minute)
				if n := len(d.provider.sent()); n != calls {
					d.Errorf("%d calls of an account that is closed until midnight", n-calls)
				}
				if err := d.engine.Gates.Resume(d.Context(), d.tenant, "c"); err != nil {
					d.Fatal(err)
				}
				d.pass(10 * time.Minute) // who used up a try waits as its profile says
				d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Sent: 60}})
			})
		})
	}
}

// CAMP-7, FLEET-5: who may have been reached is sent to again by the same account alone, also after a refusal and after its worker was
// lost: the provider of another one would not recognise the repeat.
func TestWhoMayHaveBeenReachedGoesByTheSameAccount(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		first := map[string]string{}
		answer := func(out channel.Outgoing) channel.Result {
			d.provider.mu.Lock()
			defer d.provider.mu.Unlock()
			to := out.Recipient.Address
			switch first[to] {
			case "":
				first[to] = out.Account
				return channel.Result{Class: posthouse.ClassUnknown, Code: "TIMEOUT"}
			case out.Account:
				if out.Attempt == 2 {
					return channel.Result{Class: posthouse.ClassRate, Code: "45011", After: time.Second}
				}
			default:
				d.Errorf("%s may have been reached by %s, and is sent to by %s", to, first[to], out.Account)
			}
			return channel.Result{Class: posthouse.ClassOK}
		}
		a, b := d.twoAccounts(posthouse.ChannelSettings{Profile: "wecom", MaxInflight: 8, Backoff: []posthouse.Duration{posthouse.Duration(time.Second)}})
		a.answer, b.answer = answer, answer
		d.make(60, wire.CampaignDraft{SegmentSize: 20, OnUnknown: posthouse.Retry})
		d.act(campaign.Start)
		d.pass(30 * time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Sent: 60}})
		by := map[string]int{}
		for to, account := range first {
			by[account]++
			if m, err := d.desk.Who(d.Context(), d.tenant, "spring", to); err != nil || m.Account != account {
				t.Errorf("%s is %+v, %v; want it sent by %s", to, m, err, account)
			}
		}
		if by["a"] == 0 || by["b"] == 0 {
			t.Errorf("the first attempts were by %v", by)
		}
	})
}

// CAMP-12: what a provider tells of an address, by a name of the message that nobody knows, proves whether a member was reached whose
// worker was lost before it could keep that name. Who is not in doubt, or is in several campaigns, is proved nothing of.
func TestACallbackIsEvidenceForMembersInDoubt(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.provider.decide(func(out channel.Outgoing) channel.Result {
			if out.Recipient.Address < "o0004" {
				return channel.Result{Class: posthouse.ClassUnknown, Code: "TIMEOUT"}
			}
			return channel.Result{Class: posthouse.ClassOK}
		})
		d.make(10, wire.CampaignDraft{OnUnknown: posthouse.Hold})
		d.act(campaign.Start)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 10, Unknown: 4, Sent: 6}})
		heard := func(address string, delivered bool) work.Heard {
			return work.Heard{Tenant: d.tenant, Channel: "c", Ref: "of-" + address, Address: address, Delivered: delivered, Code: map[bool]string{false: "USER_BLOCK"}[delivered]}
		}
		told := []work.Heard{heard("o0000", true), heard("o0001", false), heard("o0007", true), heard("o9999", true), {Tenant: d.tenant, Channel: "c", Ref: "nobody"}}
		rest, news, err := d.desk.Evidence(d.Context(), time.Now(), told)
		if err != nil || len(rest) != 3 || news.Delivered != 1 || news.Undelivered != 1 || len(news.Missed) != 1 || news.Missed[0].Code != "USER_BLOCK" {
			t.Fatalf("%+v is left, and %+v is new, %v", rest, news, err)
		}
		got := d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 10, Unknown: 2, Sent: 6, Delivered: 1, Undelivered: 1}})
		if m, err := d.desk.Who(d.Context(), d.tenant, "spring", "o0001"); err != nil || m.Outcome != "undelivered" || m.Reason == nil || m.Reason.Code != "USER_BLOCK" {
			t.Errorf("who blocked us is %+v, %v; the reasons are %+v", m, err, got.Progress.Reasons)
		}
		if rest, _, err := d.desk.Evidence(d.Context(), time.Now(), told[:1]); err != nil || len(rest) != 1 {
			t.Errorf("what is told again proves something: %+v, %v", rest, err)
		}
		if rest, _, err := d.desk.Evidence(d.Context(), time.Now().Add(time.Hour), []work.Heard{heard("o0002", true)}); err != nil || len(rest) != 1 {
			t.Errorf("what is told an hour later proves something: %+v, %v", rest, err)
		}
	})
}
