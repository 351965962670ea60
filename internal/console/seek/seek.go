// Package seek finds the deliveries that somebody asks for in a few words: who they went to, by id, name or address, what they were
// about, what their provider calls them, and the campaigns that had the address among their members.
//
// It asks the API, on behalf of whoever asks, and draws nothing.
package seek

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Question is what is asked for: the words, and what narrows the answer down. Empty fields ask for nothing.
type Question struct {
	Words                                           string
	Channel, Kind, Account, State, Reason, Priority string
	Since, Until                                    time.Time
	// Known asks for deliveries by their address or their provider's id alone, Ref by the kind and ref of their messages.
	Known, Ref bool
}

// Any reports whether something is asked for.
func (q Question) Any() bool {
	return q.Words+q.Channel+q.Kind+q.Account+q.State+q.Reason+q.Priority != "" || !q.Since.IsZero() || !q.Until.IsZero()
}

// Found is a page of the answer.
type Found struct {
	Users []posthouse.User // of the directory, that fit the words
	More  bool             // of the directory than were looked through
	Met   []Met            // campaigns that fit the words
	List  []posthouse.Delivery
	Next  string // the cursor of the next page
	Short bool   // the page is short of what is behind it: nothing newer fits
	Known bool   // List and Next are of deliveries by their address or provider's id
	Ref   bool   // Next is of deliveries by their messages' kind and ref
	User  string // Next is of the deliveries to this user, whom the words name otherwise
	Both  bool   // the words are an address: List is of the user of that name and of that address, in whatever form
}

// Met is a campaign of that name, or one that has the address among its members.
type Met struct {
	Campaign string
	State    posthouse.CampaignState
	Member   *wire.CampaignMember // nil for the name alone
}

// Seeker finds by the API. Page is how many deliveries a page has.
type Seeker struct {
	API  *client.Client
	Page int
}

// mostUsers bounds how many users of the directory that fit are shown with their deliveries.
const mostUsers = 5

// Find answers a question. Behind the first page there are only the deliveries of what the words name itself.
func (s Seeker) Find(ctx context.Context, q Question, cursor string) (f Found, err error) {
	filter := q.Filter()
	filter.Cursor, filter.Limit = cursor, s.Page
	switch {
	case q.Words == "":
		return f, s.list(ctx, &f, filter)
	case q.Known:
		return f, s.known(ctx, &f, q, filter)
	case q.Ref:
		return f, s.ofRef(ctx, &f, q, filter)
	}
	if f.Both = addressed(q.Words); f.Both && strings.Contains(cursor, sep) {
		return f, s.both(ctx, &f, q, filter)
	}
	filter.User = q.Words
	if err := s.list(ctx, &f, filter); err != nil || cursor != "" {
		return f, err
	}
	filter.User = ""
	if of, ok := q.byRef(filter); ok {
		next, err := s.add(ctx, &f, of)
		if err != nil {
			return f, err
		}
		if f.Next == "" {
			f.Next, f.Ref = next, next != ""
		}
	}
	if err := s.byDirectory(ctx, &f, q, filter); err != nil {
		return f, err
	}
	if f.Both && f.Next != "" && f.Ref {
		f.Both = false // the words are a ref, and its list goes on
	}
	if f.Both {
		if err := s.addressees(ctx, &f, q, filter); err != nil {
			return f, err
		}
	}
	if f.Met, err = s.campaigns(ctx, q, f.Users); err != nil || f.Both || len(f.List)+len(f.Users) > 0 {
		return f, err
	}
	return f, s.known(ctx, &f, q, filter)
}

// addressed reports whether words are what a channel may send to.
func addressed(words string) bool {
	_, err := phone.Parse(words, phone.Home)
	return err == nil || strings.Contains(words, "@")
}

// Where the words are an address, the list has two halves: what went to a user, by an index, and what went to the address, which no index
// has. Each goes on by itself; the cursor has both, and the user. A half that has ended is a dash.
const (
	sep   = "~"
	ended = "-"
)

// addressees adds to a first page, which has those to a user, the deliveries to the address.
func (s Seeker) addressees(ctx context.Context, f *Found, q Question, filter client.Filter) error {
	user := q.Words
	if named := func(d posthouse.Delivery) bool { return d.User == q.Words }; len(f.Users) == 1 && !slices.ContainsFunc(f.List, named) {
		user = f.Users[0].ID
	}
	next := cmp.Or(f.Next, ended)
	f.Next, f.User = "", ""
	return s.toAddress(ctx, f, q, filter, next, user)
}

// both fills in a page behind the first.
func (s Seeker) both(ctx context.Context, f *Found, q Question, filter client.Filter) error {
	parts := strings.SplitN(filter.Cursor, sep, 3)
	if len(parts) < 3 {
		return posthouse.Invalid("nothing can be searched for", []posthouse.Problem{{Path: "cursor", Message: "is not one that this list returned: leave it out to begin anew"}})
	}
	next, user := parts[0], parts[2]
	if next != ended {
		of := filter
		of.User, of.Cursor = user, next
		if err := s.list(ctx, f, of); err != nil {
			return err
		}
		next = cmp.Or(f.Next, ended)
		f.Next, f.Short = "", false
	}
	if filter.Cursor = parts[1]; filter.Cursor == ended {
		if next != ended {
			f.Next = next + sep + ended + sep + user
		}
		return nil
	}
	return s.toAddress(ctx, f, q, filter, next, user)
}

// toAddress adds the deliveries to the address that are not of the user, whose half goes on at a cursor.
func (s Seeker) toAddress(ctx context.Context, f *Found, q Question, filter client.Filter, next, user string) error {
	filter.User, filter.KnownAs = "", q.Words
	page, err := s.API.Deliveries.List(ctx, filter)
	if err != nil {
		return err
	}
	f.merge(slices.DeleteFunc(page.Items, func(d posthouse.Delivery) bool { return d.User == user }))
	f.Short = page.Next != "" && len(f.List) < filter.Limit
	if behind := cmp.Or(page.Next, ended); next != ended || behind != ended {
		f.Next = next + sep + behind + sep + user
	}
	return nil
}

// merge adds the deliveries that the list has not yet, the newest first.
func (f *Found) merge(more []posthouse.Delivery) {
	for _, d := range more {
		if !slices.ContainsFunc(f.List, func(have posthouse.Delivery) bool { return have.ID == d.ID }) {
			f.List = append(f.List, d)
		}
	}
	slices.SortFunc(f.List, func(a, b posthouse.Delivery) int { return strings.Compare(b.ID, a.ID) })
}

// Plain is what somebody typed with what a keyboard or a table makes of it taken away: wide letters and digits, and spaces around and in a
// row.
func Plain(words string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(words)), " ")
}

// forms are the words, and where they are a number its other forms: that of all countries, and the digits at home.
func forms(words string) []string {
	list := []string{words}
	n, err := phone.Parse(words, phone.Home)
	if err != nil {
		return list
	}
	for _, form := range []string{n.E164, n.National} {
		if !slices.Contains(list, form) {
			list = append(list, form)
		}
	}
	return list
}

// Filter is what is asked for besides the words.
func (q Question) Filter() client.Filter {
	f := client.Filter{Channel: q.Channel, Kind: q.Kind, Account: q.Account, Reason: q.Reason, Priority: posthouse.Priority(q.Priority), Since: q.Since, Until: q.Until}
	if s := posthouse.State(q.State); s.Valid() {
		f.States = []posthouse.State{s}
	}
	return f
}

// byRef asks for what the words name, if they may be a kind and a ref.
func (q Question) byRef(filter client.Filter) (client.Filter, bool) {
	kind, ref, ok := strings.Cut(q.Words, "/")
	if !ok {
		kind, ref = q.Kind, q.Words
	}
	filter.Kind, filter.Ref = kind, ref
	return filter, kind != ""
}

// list fills in a page of what a filter selects.
func (s Seeker) list(ctx context.Context, f *Found, filter client.Filter) error {
	page, err := s.API.Deliveries.List(ctx, filter)
	if err != nil {
		return err
	}
	f.List, f.Next, f.Short = page.Items, page.Next, page.Next != "" && len(page.Items) < filter.Limit
	return nil
}

// known fills in a page of the deliveries to an address, or with a provider's id. No index has them: a page looks through the
// newest, and leads on.
func (s Seeker) known(ctx context.Context, f *Found, q Question, filter client.Filter) error {
	filter.KnownAs = q.Words
	f.Known = true
	return s.list(ctx, f, filter)
}

// ofRef fills in a page of the deliveries of the kind and ref that the words name, but for those to a user of that name: they were
// all on the first page.
func (s Seeker) ofRef(ctx context.Context, f *Found, q Question, filter client.Filter) error {
	of, ok := q.byRef(filter)
	if !ok {
		return nil
	}
	f.Ref = true
	err := s.list(ctx, f, of)
	f.List = slices.DeleteFunc(f.List, func(d posthouse.Delivery) bool { return d.User == q.Words })
	return err
}

// add adds what another filter selects, the newest first, and returns the cursor of what is behind it.
func (s Seeker) add(ctx context.Context, f *Found, filter client.Filter) (next string, err error) {
	filter.Cursor = ""
	page, err := s.API.Deliveries.List(ctx, filter)
	if posthouse.CodeOf(err) == posthouse.CodeInvalid {
		return "", nil // what was asked for is nothing that a filter takes
	}
	if err != nil {
		return "", err
	}
	f.merge(page.Items)
	return page.Next, nil
}

// byDirectory adds what users got whose name or address begins with the words. Behind the first page it goes on where that is one: of
// several each is a link.
func (s Seeker) byDirectory(ctx context.Context, f *Found, q Question, filter client.Filter) error {
	var users []posthouse.User
	for _, form := range forms(q.Words) {
		page, err := s.API.Users.Find(ctx, form, mostUsers+2)
		if err != nil {
			return err
		}
		for _, u := range page.Items {
			if !slices.ContainsFunc(users, func(have posthouse.User) bool { return have.ID == u.ID }) {
				users = append(users, u)
			}
		}
	}
	var next string
	for _, u := range users {
		if u.ID == q.Words {
			continue
		}
		if f.More = len(f.Users) == mostUsers; f.More {
			return nil
		}
		f.Users = append(f.Users, u)
		filter.User = u.ID
		var err error
		if next, err = s.add(ctx, f, filter); err != nil {
			return err
		}
	}
	if len(f.Users) == 1 && f.Next == "" && next != "" {
		f.Next, f.User = next, f.Users[0].ID
	}
	return nil
}

// mostCampaigns bounds how many of the newest campaigns are asked for an address.
const mostCampaigns = 10

// campaigns are those of the newest that have the words, or the address of the one user they fit, among their members, and the one
// of that name. What narrows the answer down to states and the like is of deliveries alone.
func (s Seeker) campaigns(ctx context.Context, q Question, users []posthouse.User) ([]Met, error) {
	if q.Account+q.State+q.Reason+q.Priority != "" || !q.Since.IsZero() || !q.Until.IsZero() {
		return nil, nil
	}
	page, err := s.API.Campaigns.List(ctx, "", client.Filter{Limit: mostCampaigns})
	if err != nil {
		return nil, hidden(err)
	}
	var met []Met
	for _, c := range page.Items {
		if q.Channel != "" && q.Channel != c.Channel || q.Kind != "" && q.Kind != c.Kind {
			continue
		}
		m, err := s.member(ctx, c.Campaign, q.Words, users)
		if err != nil {
			return nil, err
		}
		if m != nil || c.Name == q.Words {
			met = append(met, Met{c.Name, c.State, m})
		}
	}
	return s.named(ctx, q, met)
}

// named adds the campaign whose name or id the words are, if it is not among those.
func (s Seeker) named(ctx context.Context, q Question, met []Met) ([]Met, error) {
	if slices.ContainsFunc(met, func(m Met) bool { return m.Campaign == q.Words }) {
		return met, nil
	}
	c, err := s.API.Campaigns.Get(ctx, q.Words)
	if err != nil {
		return met, hidden(err)
	}
	return append(met, Met{Campaign: c.Name, State: c.State}), nil
}

// member is the one of a campaign that the words name, nil for nobody.
func (s Seeker) member(ctx context.Context, c posthouse.Campaign, words string, users []posthouse.User) (*wire.CampaignMember, error) {
	addresses := []string{words}
	if len(users) == 1 && users[0].Addresses[c.Channel] != "" {
		addresses = append(addresses, users[0].Addresses[c.Channel])
	}
	for _, address := range addresses {
		m, err := s.API.Campaigns.Who(ctx, c.Name, address)
		if err == nil {
			return &m, nil
		}
		if err = hidden(err); err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// hidden takes the errors away that say of a part of the answer that there is none, or none for this caller.
func hidden(err error) error {
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		switch coded.Code {
		case posthouse.CodeNotFound, posthouse.CodeConflict, posthouse.CodeInvalid, posthouse.CodeForbidden:
			return nil
		}
	}
	return err
}

// Every reads all that Find finds on all of its pages, each delivery once. first is the first page.
func (s Seeker) Every(ctx context.Context, q Question, first Found, each func(posthouse.Delivery) error) error {
	filter := q.Filter()
	switch {
	case q.Words == "":
		return s.every(ctx, filter, each)
	case first.Known:
		filter.KnownAs = q.Words
		return s.every(ctx, filter, each)
	}
	users := []string{q.Words}
	for _, u := range first.Users {
		users = append(users, u.ID)
	}
	for _, user := range users {
		of := filter
		of.User = user
		if err := s.every(ctx, of, each); err != nil {
			return err
		}
	}
	of, ok := q.byRef(filter)
	seen := map[string]bool{} // what the list by ref may have again
	if addressed(q.Words) {
		to := filter
		to.KnownAs = q.Words
		if err := s.every(ctx, to, func(d posthouse.Delivery) error {
			if slices.Contains(users, d.User) {
				return nil
			}
			if ok {
				seen[d.ID] = true
			}
			return each(d)
		}); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	err := s.every(ctx, of, func(d posthouse.Delivery) error {
		if slices.Contains(users, d.User) || seen[d.ID] {
			return nil
		}
		return each(d)
	})
	if posthouse.CodeOf(err) == posthouse.CodeInvalid {
		return nil // the words are no ref: Find finds nothing by them either
	}
	return err
}

// every reads all pages of what a filter selects.
func (s Seeker) every(ctx context.Context, filter client.Filter, each func(posthouse.Delivery) error) error {
	filter.Limit = web.MaxPage
	for {
		page, err := s.API.Deliveries.List(ctx, filter)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			if err := each(d); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		filter.Cursor = page.Next
	}
}
