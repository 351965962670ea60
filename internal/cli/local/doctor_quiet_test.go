package local

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// The doctor finds fault with a channel by which nothing can ever be sent: its hours and the tenant's leave no time together.
func TestTheDoctorNamesChannelsThatAreQuietForGood(t *testing.T) {
	t.Parallel()
	night, day := []posthouse.QuietHours{{From: "22:00", To: "08:00"}}, []posthouse.QuietHours{{From: "08:00", To: "22:00"}}
	tenants := map[string]posthouse.Tenant{"acme": {Name: "acme", QuietHours: night}}
	of := func(tenant, name string, hours []posthouse.QuietHours) posthouse.Channel {
		return posthouse.Channel{Tenant: tenant, Name: name, ChannelSettings: posthouse.ChannelSettings{QuietHours: hours}}
	}
	got := covered(tenants, []posthouse.Channel{of("acme", "calls", day), of("acme", "texts", night), of("acme", "mails", nil), of(posthouse.DefaultTenant, "calls", day),
		of("acme", "chat", []posthouse.QuietHours{{From: "08:00", To: "22:00", Users: []string{"li.na"}}})})
	want := []finding{
		{"channel calls (tenant acme)", false, "its quiet hours and those of the tenant leave no time: nothing is ever sent by it, but what is critical. Leave an hour that neither has"},
		{"channel chat (tenant acme)", false, `its quiet hours and those of the tenant leave no time to "li.na": nothing is ever sent to them by it, but what is critical. Leave an hour that neither has`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
