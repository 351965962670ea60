package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// elsewhere has people in another database, and with a provider. It is away after so many.
type elsewhere struct {
	channel.Driver
	people []string
	after  int // of the people who are read in one go; 0 for all
	asked  []string
	first  string // in place of the first one
}

var errAway = errors.New("the connection was lost")

func (e *elsewhere) Query(_ context.Context, tenant, database, query string, columns func([]string) error, row func([]*string) error) error {
	e.asked = append(e.asked, tenant+" "+database+" "+query)
	if err := columns([]string{"openid", "name"}); err != nil {
		return err
	}
	for i, p := range e.people {
		if e.after > 0 && i == e.after {
			return errAway
		}
		if i == 0 && e.first != "" {
			p = e.first
		}
		name := "n of " + p
		if err := row([]*string{&p, &name}); err != nil {
			return err
		}
	}
	return nil
}

func (e *elsewhere) List(_ context.Context, behind string) (page []string, more bool, err error) {
	e.asked = append(e.asked, behind)
	at := 0
	for i, p := range e.people {
		if p == behind {
			at = i + 1
		}
	}
	if e.after > 0 && at >= e.after {
		return nil, false, errAway
	}
	end := min(at+10_000, len(e.people))
	return e.people[at:end], end < len(e.people), nil
}

// CAMP-9: an import from another database, or of followers, that was interrupted goes on where it was when it is asked for again, as
// that of a file: nobody is imported twice, and a query that gives other people is refused.
func TestCAMP9_AnImportFromElsewhereGoesOn(t *testing.T) {
	const n = 45_000
	from := &elsewhere{}
	for i := range n {
		from.people = append(from.people, fmt.Sprintf("o%06d", i))
	}
	eachDB(t, func(t *testing.T, h *hall) {
		from := &elsewhere{people: from.people}
		ch := &state.Channel{Opened: state.Opened{Driver: from}}
		desk := campaign.NewDesk(campaign.Options{
			Campaigns: h.store.Campaigns, History: h.store.Campaigns, Segments: h.store.Segments, Lists: h.store.Audiences, Templates: h.store.Templates, Importer: h.importer,
			Channel: func(string, string) *state.Channel { return ch },
		})
		f := campaign.Fetcher{Desk: desk, Databases: from}
		for kind, fetch := range map[string]func(name string) (posthouse.Audience, error){
			"query": func(name string) (posthouse.Audience, error) {
				return f.Query(t.Context(), "t1", name, wire.PeopleQuery{Database: "crm", Query: "SELECT openid, name FROM fans ORDER BY id"})
			},
			"followers": func(name string) (posthouse.Audience, error) {
				return f.Followers(t.Context(), "t1", name, wire.PeopleFollowing{})
			},
		} {
			if _, err := desk.Create(t.Context(), "t1", work.Program(), wire.CampaignDraft{Name: kind, Channel: "c", Content: &posthouse.Content{Text: "hello"}}); err != nil {
				t.Fatal(err)
			}
			from.after, from.asked = 30_000, nil
			a, err := fetch(kind)
			if err == nil || !strings.Contains(err.Error(), errAway.Error()) || a.State != posthouse.AudienceOpen || a.Members == 0 || a.Members > 30_000 {
				t.Fatalf("%s: while its source was lost: %+v, %v", kind, a, err)
			}
			before := a.Members
			if kind == "query" {
				from.after, from.first = 0, "somebody"
				if _, err := fetch(kind); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "the query gives other people than before") {
					t.Errorf("another result of the query: %v", err)
				}
				from.first = ""
			}
			from.after, from.asked = 0, nil
			if a, err = fetch(kind); err != nil || a.State != posthouse.AudienceReady || a.Members != n || a.Repeated != 0 || a.Refused != 0 {
				t.Errorf("%s: asked again: %+v, %v", kind, a, err)
			}
			if kind == "followers" && (len(from.asked) == 0 || from.asked[0] != from.people[before-1]) {
				t.Errorf("the provider was asked again behind %v, where %d were stored", from.asked, before)
			}
			if _, err := fetch(kind); posthouse.CodeOf(err) != posthouse.CodeConflict {
				t.Errorf("%s: what is complete was imported again: %v", kind, err)
			}
		}
	})
}
