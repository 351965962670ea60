package upgrade

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// The first fixture that has rows of the migrations after 0001: people's zones, languages and managers, texts in languages, digests, preferences,
// answers, and what stands in documents since then.
const firstSince = "0006"

// answered is the number to which a notification went that may be answered by text message.
const answered = "+8613800138222"

// gathered is how many messages wait in a collection.
const gathered = 3

var (
	person = posthouse.User{
		ID: "wang.wei", Name: "王伟", Addresses: map[string]string{"generic": "1002"}, TimeZone: "Asia/Shanghai", Language: "zh", Manager: "li.na",
	}
	template = posthouse.Template{
		Name: "outage", Title: "Outage", Text: "${name} is down", Language: "en",
		Texts: map[string]posthouse.TemplateText{"zh": {Title: "故障", Text: "${name} 已停止"}},
	}
	digest = posthouse.Digest{Name: "some", Window: posthouse.Duration(30 * 24 * time.Hour), By: "ref", Max: 50, Line: "${title}${text}"}
	choice = wire.PutPreferences{Off: []posthouse.Unwanted{{Kind: "news"}, {Channel: "desk"}}, Prefer: []string{"generic"}}
	branch = wire.PutTenant{
		Note: "a branch", Language: "zh", MandatoryKinds: []string{"alarm"}, OptionalKinds: []string{"news"},
		QuietHours: []posthouse.QuietHours{{From: "22:00", To: "08:00"}}, Caps: []posthouse.Cap{{Max: 10, Per: posthouse.Duration(24 * time.Hour)}},
	}
	budget = posthouse.Budget{Max: 1000, Per: posthouse.PerMonth, TimeZone: "Asia/Shanghai"}
)

// fillSince makes what has a place since the migrations after 0001.
func fillSince(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	var all []error
	note := func(what string, err error) {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", what, err))
		}
	}
	_, err := c.Users.Put(ctx, person)
	note("user", err)
	_, err = c.Users.Choose(ctx, person.ID, choice)
	note("preferences", err)
	_, err = c.Templates.Put(ctx, template)
	note("template", err)
	_, err = c.Digests.Put(ctx, digest)
	note("digest", err)
	_, err = c.Tenants.Put(ctx, "branch", branch)
	note("tenant", err)
	paid := h.Channel("paid")
	paid.Budget = &budget
	h.PutChannel(t, paid)
	for n := range gathered {
		d := house.Text("generic", n)
		d.Digest, d.Ref, d.To = digest.Name, "disks", []posthouse.Recipient{{User: person.ID, Address: "1002"}}
		asked := time.Now()
		sent, err := c.Messages.Send(ctx, d)
		if note("member of a digest", err); err == nil {
			h.Tell(t, house.Told{At: time.Now(), Asked: asked, Op: "send", Answer: "accepted", Status: http.StatusAccepted, Message: sent.Accepted[0].ID})
		}
	}
	routed := house.Text("generic", 1)
	routed.Channel, routed.Route, routed.To = "", "night", []posthouse.Recipient{{User: person.ID, Address: answered}}
	sent, err := c.Messages.Send(ctx, routed)
	note("notification", err)
	if err := errors.Join(all...); err != nil {
		t.Fatal(err)
	}
	house.Until(t, "the first step to be sent", func() bool {
		list, err := c.Notifications.Of(ctx, sent.Accepted[0].ID)
		return err == nil && len(list) == 1 && len(list[0].Deliveries) == 1 && list[0].Deliveries[0].State == posthouse.Sent
	})
}

// checkSince reads back what fillSince has made, and has it go on: the collection leaves with all that it has gathered, and the notification that waits
// for its acknowledgement takes one.
func checkSince(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	same := func(what string, got, want any, err error, but ...string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		ignored := cmp.FilterPath(func(p cmp.Path) bool { return slices.Contains(but, p.Last().String()) }, cmp.Ignore())
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), ignored); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	user, err := c.Users.Get(ctx, person.ID)
	same("user", user, person, err, ".Tenant", ".UpdatedAt", ".Warnings", ".Roles")
	kept, err := c.Users.Preferences(ctx, person.ID)
	same("preferences", kept, posthouse.Preferences{User: person.ID, Off: choice.Off, Prefer: choice.Prefer, By: posthouse.PreferredByOperator}, err, ".UpdatedAt")
	text, err := c.Templates.Get(ctx, template.Name, 0)
	same("template", text, template, err, ".Tenant", ".Version", ".Variables", ".CreatedAt")
	way, err := c.Digests.Get(ctx, digest.Name, 0)
	same("digest", way, digest, err, ".Tenant", ".Version", ".CreatedAt")
	tenant, err := c.Tenants.Get(ctx, "branch")
	same("tenant", wire.PutTenantOf(tenant.Tenant), branch, err)
	paid, err := c.Channels.Get(ctx, "paid")
	same("budget", paid.Budget, &budget, err)
	ids, err := h.Store(t).Receipts.Answerable(ctx, posthouse.DefaultTenant, "generic", answered, 10)
	if err != nil || len(ids) != 1 {
		t.Fatalf("what an answer from %s may mean: %v, %v; want one delivery", answered, ids, err)
	}
	acked, err := c.Notifications.AcknowledgeMessage(ctx, notificationOf(t, c, ids[0]), wire.Ack{By: person.ID})
	if err != nil || len(acked) != 1 || acked[0].State != posthouse.NotificationAcknowledged {
		t.Errorf("the notification is %+v, %v; want it acknowledged", acked, err)
	}
	page, err := c.Collections.List(ctx, "", client.Filter{Limit: 100})
	if err != nil || len(page.Items) != 1 || len(page.Items[0].Members) != gathered {
		t.Fatalf("collections: %+v, %v; want one with %d members", page.Items, err, gathered)
	}
	if page.Items[0].State == posthouse.CollectionWaiting { // its window may be over by now
		if _, err := c.Collections.Leave(ctx, page.Items[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	house.Until(t, "the collection to be sent as one text", func() bool {
		of, err := c.Collections.Get(ctx, page.Items[0].ID)
		if err != nil || of.State != posthouse.CollectionSettled {
			return false
		}
		for _, m := range of.Members {
			if d, err := c.Deliveries.Get(ctx, m.Delivery); err != nil || d.State != posthouse.Sent {
				return false
			}
		}
		return true
	})
	texts := 0
	for _, a := range h.Provider.Arrivals(t) {
		if strings.Count(a.Text, "hello") == gathered {
			texts++
		}
	}
	if texts != 1 {
		t.Errorf("%d texts have all %d members, want 1", texts, gathered)
	}
}

// notificationOf is the message that a delivery's notification was made for.
func notificationOf(t *testing.T, c *client.Client, delivery string) string {
	t.Helper()
	d, err := c.Deliveries.Get(t.Context(), delivery)
	if err != nil || d.Notification == "" {
		t.Fatalf("the delivery %s is %+v, %v; want a notification's", delivery, d, err)
	}
	return posthouse.MessageID(d.Notification)
}
