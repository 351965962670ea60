package people

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/wire"
)

// Identity is a person as an identity provider describes it.
type Identity struct {
	// Subject is what never changes: the provider and its own id of the person.
	Subject string
	// Name becomes the person's name at the first sign-in.
	Name  string
	Title string
	Roles map[string]posthouse.Role
}

// Guests keeps the people that a provider knows.
type Guests interface {
	// MeetPerson finds the person of a subject, or makes one, and gives it title and roles; before is nil for a new one. An error of
	// code conflict says that somebody else has the name.
	MeetPerson(ctx context.Context, now time.Time, p posthouse.Person) (before *posthouse.Person, met posthouse.Person, err error)
}

// What a name and a title may have at most, in bytes: what databases keep.
const (
	maxName  = 64
	maxTitle = 255
)

// BadName says why a word cannot be a person's name, empty for a good one. A name stands in addresses and in the audit log, where none
// may look like another or like the key of a person.
func BadName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes: at most %d are allowed", len(name), maxName)
	case draft.UnseenIn(name) != "":
		return draft.UnseenIn(name)
	case strings.ContainsAny(name, "/\\?#%"), strings.TrimSpace(name) != name:
		return "holds /, \\, ?, #, % or spaces at its ends"
	case name == "." || name == "..":
		return "is a step of a path"
	case strings.HasPrefix(name, KeyPrefix):
		return "begins with " + KeyPrefix + ", as the keys of people do"
	}
	return ""
}

// titleOf is as much of a title as can be kept.
func titleOf(title string) string {
	title = strings.Map(func(r rune) rune {
		if draft.Unseen(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(title, ""))
	for len(title) > maxTitle {
		_, last := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-last]
	}
	return title
}

// Vouched begins a session of somebody whom an identity provider vouches for, or half of one where the person shows codes too.
func (d *Desk) Vouched(ctx context.Context, who Identity, address string) (Entry, error) {
	if why := BadName(who.Name); why != "" {
		return Entry{}, posthouse.Errorf(posthouse.CodeForbidden, "the identity provider calls you %.80q, which cannot be a name here: it %s", who.Name, why)
	}
	before, p, err := d.o.Guests.MeetPerson(ctx, time.Now(), posthouse.Person{Name: who.Name, Title: titleOf(who.Title), Roles: who.Roles, Subject: who.Subject})
	if err != nil {
		return Entry{}, err
	}
	if p.Disabled {
		return Entry{}, posthouse.Errorf(posthouse.CodeForbidden, "an administrator keeps you out")
	}
	in, pass, lasts := begin(p, address)
	if err := d.o.Sessions.AddPass(ctx, time.Now(), pass, lasts); err != nil {
		return Entry{}, err
	}
	if before == nil || before.Title != p.Title || !maps.Equal(before.Roles, p.Roles) {
		for tenant := range p.Roles {
			d.o.Book.Write(ctx, wire.AuditEntry{Tenant: tenant, Source: byProvider, Action: "people.put", Target: p.Name}, map[string]any{"before": before, "after": p})
		}
	}
	d.entered(ctx, p, in, address, byProvider)
	return in, nil
}
