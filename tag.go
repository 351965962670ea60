package posthouse

import "fmt"

// Tag names the state of a channel. It changes with whatever is stored of the channel, also whether it is paused, and one
// that is deleted and made again has another. The HTTP API has it as ETag; with If-Match a write is for this state alone.
func (c Channel) Tag() string {
	return fmt.Sprintf("%d-%d", c.Version, c.CreatedAt.UnixMicro())
}

// Tag names the state of an account, as that of a channel does.
func (a Account) Tag() string {
	return fmt.Sprintf("%d-%d", a.Version, a.CreatedAt.UnixMicro())
}

// Tag names the latest version of a template, and whether it is disabled.
func (t Template) Tag() string {
	return fmt.Sprintf("%d-%d-%t", t.Version, t.CreatedAt.UnixMicro(), !t.Disabled)
}

// Tag names the latest version of a route.
func (r Route) Tag() string { return fmt.Sprintf("%d-%d", r.Version, r.CreatedAt.UnixMicro()) }

// Tag names the latest version of a digest.
func (d Digest) Tag() string { return fmt.Sprintf("%d-%d", d.Version, d.CreatedAt.UnixMicro()) }

// Tag names the state of a roster: when it was stored.
func (r Roster) Tag() string { return fmt.Sprint(r.UpdatedAt.UnixMicro()) }

// Tag names the state of a user of the directory: when it was stored.
func (u User) Tag() string { return fmt.Sprint(u.UpdatedAt.UnixMicro()) }

// Tag names the state of a tenant: when it was stored, 0 where nobody has made it.
func (t Tenant) Tag() string {
	if t.UpdatedAt.IsZero() {
		return "0"
	}
	return fmt.Sprint(t.UpdatedAt.UnixMicro())
}

// Tag is the state of what a user prefers; of one who has chosen nothing it is that there is nothing.
func (p Preferences) Tag() string {
	if p.UpdatedAt.IsZero() {
		return "0"
	}
	return fmt.Sprint(p.UpdatedAt.UnixMicro())
}
