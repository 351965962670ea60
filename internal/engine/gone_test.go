package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
)

// removed answers that an address is gone, and accepts the others.
func removed(address string) func(channel.Outgoing) channel.Result {
	return func(out channel.Outgoing) channel.Result {
		if out.Recipient.Address == address {
			return channel.Result{Class: posthouse.ClassRecipient, Code: "UNREGISTERED", Error: "the app was removed", Gone: true}
		}
		return channel.Result{Class: posthouse.ClassOK}
	}
}

// An address of which the provider says that it reaches nobody any more is sent to once, and the answer is why nothing follows.
func TestAnAddressThatIsGoneIsSuppressed(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{}, state.Opened{MaxBatch: 10})
		r.open("d", posthouse.ChannelSettings{}, state.Opened{})
		r.provider.answer = removed("bob")
		first := r.send(text("c", "ann", "bob"))
		r.pass(10 * time.Second)
		again, elsewhere := r.send(text("c", "bob")), r.send(text("d", "ann"))
		r.pass(10 * time.Second)
		r.want(first[0], posthouse.Sent, "", 0)
		r.want(first[1], posthouse.Failed, "recipient", 1)
		if d := r.want(again[0], posthouse.Suppressed, state.ReasonSuppressed, 0); d.Error != "UNREGISTERED" {
			r.Errorf("the second message to an address that is gone says %q", d.Error)
		}
		r.want(elsewhere[0], posthouse.Sent, "", 0)
	})
}

// A member of a campaign says so for the next campaign.
func TestAMemberWhoseAddressIsGoneIsSuppressed(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.provider.answer = removed("o0007")
		d.make(20, wire.CampaignDraft{})
		d.act(campaign.Start)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 20, Sent: 19, Failed: 1}})
		list, err := d.rig.store.Suppressions.Suppressed(d.Context(), time.Now(), d.tenant, "c", []string{"o0006", "o0007"})
		if err != nil || len(list) != 1 || list["o0007"] != "UNREGISTERED" {
			d.Errorf("suppressed are %v, %v; want o0007", list, err)
		}
	})
}

// What a person has stored of an address stays, where a message of an exempt kind finds that it is gone.
func TestWhatAPersonSuppressedStaysAsItIs(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{ExemptKinds: []string{"otp"}}, state.Opened{MaxBatch: 10})
		r.provider.answer = removed("bob")
		r.suppress("c", "bob", "asked by telephone", time.Time{})
		otp := text("c", "bob")
		otp.Kind = "otp"
		id := r.send(otp)[0]
		r.pass(10 * time.Second)
		r.want(id, posthouse.Failed, "recipient", 1)
		list, err := r.store.Suppressions.Suppressed(r.Context(), time.Now(), r.tenant, "c", []string{"bob"})
		if err != nil || list["bob"] != "asked by telephone" {
			r.Errorf("the suppression says %q, %v", list["bob"], err)
		}
	})
}
