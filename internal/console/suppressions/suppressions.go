// Package suppressions is the console's pages of addresses to which nothing is sent: the list, what there is of one address, and the forms
// that put addresses in and take them out. What is sent is decided by internal/suppress.
package suppressions

import (
	"cmp"
	"embed"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/web"
)

//go:embed pages
var files embed.FS

// Done is what the list says once something of it was removed.
const Done = "supp_removed"

// Pages are the pages of suppressions.
func Pages() host.Pages {
	sends := func(path, action string, serve func(*host.Visit) error) host.Route {
		return host.Route{Method: http.MethodPost, Path: path, Use: web.Use{Scope: posthouse.ScopeSend, Action: action}, Serve: serve}
	}
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			host.Looks("suppressions", "suppressions.read", showAll),
			host.Looks("suppressions.csv", "suppressions.read", save),
			host.Looks("suppressions/{name}", "suppressions.read", showOne),
			sends("suppressions", "suppressions.create", add),
			sends("suppressions/import", "suppressions.import", take),
			sends("suppressions/remove", "suppressions.delete", remove),
		},
	}
}

// Where and when a suppression holds, as filters have it beside names and times.
const (
	everywhere = "*"
	endsNever  = "never"
	endsOnce   = "once"
	endsSoon   = "soon"
)

// soon is within which time a suppression ends soon.
const soon = 7 * 24 * time.Hour

// filters narrow the list. Empty ones do not.
type filters struct{ Words, Channel, Source, Reason, Ends string }

func filtersOf(value func(name string) string) filters {
	return filters{value("q"), value("channel"), value("source"), value("reason"), value("ends")}
}

// drop takes away what no filter has, as an address that was typed may, and says so.
func (f *filters) drop(v *host.Visit) (wrong []posthouse.Problem) {
	if f.Source != "" && !slices.Contains(posthouse.SuppressionSources(), posthouse.SuppressionSource(f.Source)) {
		wrong = append(wrong, posthouse.Problem{Path: "source", Message: v.Say("supp_no_source")})
		f.Source = ""
	}
	if f.Ends != "" && !slices.Contains(endings(), f.Ends) {
		wrong = append(wrong, posthouse.Problem{Path: "ends", Message: v.Say("supp_no_ends")})
		f.Ends = ""
	}
	return wrong
}

func endings() []string { return []string{endsNever, endsOnce, endsSoon} }

// Any reports whether not everything is asked for.
func (f filters) Any() bool { return f != filters{} }

// Narrow reports whether something is asked for that most looks leave open.
func (f filters) Narrow() bool { return f.Reason+f.Ends != "" }

// apart reports whether something is asked for that the API has no filter for.
func (f filters) apart() bool { return f.Channel == everywhere || f.Source+f.Reason+f.Ends != "" }

// wants reports whether the filters that the API does not have select a suppression.
func (f filters) wants(s posthouse.Suppression, now time.Time) bool {
	switch {
	case f.Channel == everywhere && s.Channel != "", f.Source != "" && f.Source != string(s.Source):
		return false
	case !strings.Contains(strings.ToLower(s.Reason), strings.ToLower(f.Reason)):
		return false
	}
	switch f.Ends {
	case endsNever:
		return s.Until.IsZero()
	case endsOnce:
		return !s.Until.IsZero()
	case endsSoon:
		return !s.Until.IsZero() && s.Until.Before(now.Add(soon))
	}
	return true
}

// channel is the one that the API is asked for.
func (f filters) channel() string {
	if f.Channel == everywhere {
		return ""
	}
	return f.Channel
}

// query is the address's part of the filters.
func (f filters) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Words, "channel": f.Channel, "source": f.Source, "reason": f.Reason, "ends": f.Ends} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// Query is the filters as the address of a page has them, with a question mark, empty for none.
func (f filters) Query() string {
	if q := f.query(); len(q) > 0 {
		return "?" + q.Encode()
	}
	return ""
}

// chip is a filter that narrows the list, and the page without it.
type chip struct{ Name, Value, Link string }

// list is what the page shows.
type list struct {
	filters
	Channels []posthouse.Channel
	Sources  []posthouse.SuppressionSource
	Endings  []string
	Active   []chip
	Users    []posthouse.User // of the directory, whom the words name
	Items    []posthouse.Suppression
	Next     string // the query of the next page
	Picked   bool
	New      form
	File     intake
	Chosen   []posthouse.Suppression // that would be removed
	Gone     int                     // of those that were chosen
	Moved    bool                    // those that are left were stored anew meanwhile
	Note     string
	Problems []posthouse.Problem
}

// Looks reports whether the page shows what a form would do.
func (l list) Looks() bool { return len(l.Chosen) > 0 || l.File.Look != nil }

// Undecided says that a page which answers a form has changed nothing: what has leads on.
func (list) Undecided() bool { return true }

// Of the filters for which the API has none, a page looks through parts of the list until it is full or mostLeafed parts are done; the next
// page goes on.
const (
	leaf       = 200
	mostLeafed = 5
	pageLength = 100
)

func showAll(v *host.Visit) error {
	f := filtersOf(v.Query)
	return draw(v, http.StatusOK, list{filters: f, Problems: f.drop(v), New: form{Address: v.Query("new"), Open: v.R.URL.Query().Has("new")}})
}

// draw shows the list with what l has already of it.
func draw(v *host.Visit, status int, l list) error {
	var err error
	if l.Channels, err = v.API.Channels.List(v.Ctx()); err != nil {
		return err
	}
	l.Sources, l.Endings = posthouse.SuppressionSources(), endings()
	l.Picked = v.Query("picked") != ""
	if !l.Looks() {
		if err := l.read(v); err != nil {
			return err
		}
	}
	l.chips(v)
	return v.Draw(status, "suppressions", "suppressions", l)
}

// read fills in a page.
func (l *list) read(v *host.Visit) error {
	if l.Words != "" {
		return l.find(v)
	}
	size, cursor := pageLength, v.Query("cursor")
	if l.apart() {
		size = leaf
	}
	for range mostLeafed {
		page, err := v.API.Suppressions.List(v.Ctx(), l.channel(), "", client.Filter{Cursor: cursor, Limit: size})
		if err != nil {
			return err
		}
		l.take(page.Items)
		if cursor = page.Next; cursor == "" || len(l.Items) >= pageLength || !l.apart() {
			break
		}
	}
	if cursor != "" {
		q := l.query()
		q.Set("cursor", cursor)
		l.Next = "?" + q.Encode()
	}
	return nil
}

// take adds those of a page that the filters select.
func (l *list) take(page []posthouse.Suppression) {
	now := time.Now()
	for _, s := range page {
		same := func(have posthouse.Suppression) bool { return have.Address == s.Address && have.Channel == s.Channel }
		if l.wants(s, now) && !slices.ContainsFunc(l.Items, same) {
			l.Items = append(l.Items, s)
		}
	}
}

// find fills in what there is of an address, or of those of a user of the directory.
func (l *list) find(v *host.Visit) error {
	var err error
	if l.Users, err = whose(v, l.Words); err != nil {
		return err
	}
	for _, address := range addressesOf(l.Words, l.Users) {
		page, err := v.API.Suppressions.List(v.Ctx(), l.channel(), address, client.Filter{Limit: leaf})
		if err != nil {
			return err
		}
		l.take(page.Items)
	}
	return nil
}

// mostUsers bounds how many users of the directory are looked at who have one address.
const mostUsers = 5

// whose are the users of the directory of an id, of a name or with an address.
func whose(v *host.Visit, words string) ([]posthouse.User, error) {
	page, err := v.API.Users.Find(v.Ctx(), words, 4*mostUsers)
	if err != nil {
		return nil, err
	}
	users := slices.DeleteFunc(page.Items, func(u posthouse.User) bool {
		for _, address := range u.Addresses {
			if strings.EqualFold(address, words) {
				return false
			}
		}
		return !named(u, words)
	})
	return users[:min(len(users), mostUsers)], nil
}

// named reports whether words are the id or the name of a user.
func named(u posthouse.User, words string) bool {
	return u.ID == words || u.Name != "" && strings.EqualFold(u.Name, words)
}

// addressesOf are the words themselves, and where they name users, by id or name, the users' addresses and ids.
func addressesOf(words string, users []posthouse.User) []string {
	all := []string{words}
	for _, u := range users {
		if named(u, words) {
			all = append(append(all, u.ID), reached(u)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reached are the addresses of a user, each once.
func reached(u posthouse.User) (all []string) {
	for _, address := range u.Addresses {
		all = append(all, address)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chips lists what narrows the list.
func (l *list) chips(v *host.Visit) {
	place := l.Channel
	if place == everywhere {
		place = v.Say("supp_everywhere")
	}
	for _, one := range []struct{ name, word, value, shown string }{
		{"q", "supp_address", l.Words, l.Words}, {"channel", "supp_where", l.Channel, place}, {"source", "supp_source", l.Source, v.Say("supp_by_" + l.Source)},
		{"reason", "reason", l.Reason, l.Reason}, {"ends", "supp_until", l.Ends, v.Say("supp_ends_" + l.Ends)},
	} {
		if one.value == "" {
			continue
		}
		q := l.query()
		q.Del(one.name)
		link := ""
		if len(q) > 0 {
			link = "?" + q.Encode()
		}
		l.Active = append(l.Active, chip{v.Say(one.word), one.shown, v.At("suppressions") + link})
	}
}

// Pick is the page with all of it ticked.
func (l list) Pick() string {
	q := l.query()
	q.Set("picked", "1")
	return "?" + q.Encode()
}

// sheet is what the page of an address shows.
type sheet struct {
	Address string
	Items   []posthouse.Suppression
	Users   []posthouse.User
}

func showOne(v *host.Visit) error {
	s := sheet{Address: v.R.PathValue("name")}
	page, err := v.API.Suppressions.List(v.Ctx(), "", s.Address, client.Filter{Limit: leaf})
	if err != nil {
		return err
	}
	s.Items = page.Items
	if s.Users, err = whose(v, s.Address); err != nil {
		return err
	}
	return v.Show("suppression", "suppression", s)
}

// save writes all that the filters select, on every page, as a CSV that an import takes again.
func save(v *host.Visit) error {
	l := list{filters: filtersOf(v.Query)}
	if wrong := l.drop(v); len(wrong) > 0 {
		return posthouse.Invalid(wrong[0].Message, wrong)
	}
	if l.Words != "" {
		if err := l.find(v); err != nil {
			return err
		}
	}
	return v.Save("suppressions.csv", func(w io.Writer) error {
		return web.Listed(true, []string{"address", "channel", "reason", "until", "source", "created_at"}, func(each func(posthouse.Suppression) error) error {
			return l.every(v, each)
		}, cells).Write(w)
	})
}

// every reads all pages of what the filters select.
func (l *list) every(v *host.Visit, each func(posthouse.Suppression) error) error {
	for f := (client.Filter{Limit: web.MaxPage}); ; {
		next := ""
		if l.Words == "" {
			page, err := v.API.Suppressions.List(v.Ctx(), l.channel(), "", f)
			if err != nil {
				return err
			}
			l.Items, next = nil, page.Next
			l.take(page.Items)
		}
		for _, s := range l.Items {
			if err := each(s); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		f.Cursor = next
	}
}

func cells(s posthouse.Suppression) []string {
	until := ""
	if !s.Until.IsZero() {
		until = s.Until.UTC().Format(time.RFC3339)
	}
	return []string{s.Address, s.Channel, s.Reason, until, string(s.Source), s.CreatedAt.UTC().Format(time.RFC3339)}
}

// Origin is the word for how a suppression came into the list: of a provider's by what it has told, in the reasons that channels give.
func Origin(s posthouse.Suppression) string {
	if s.Source != posthouse.SuppressedByCallback {
		return "supp_by_" + string(s.Source)
	}
	told, _, _ := strings.Cut(s.Reason, " ")
	switch told {
	case "unsubscribed":
		return "supp_by_link" // channel/email
	case "bounced":
		return "supp_by_bounce" // channel/email
	case "replied":
		return "supp_by_reply" // channel/sms
	case "unsubscribe":
		return "supp_by_unfollow" // channel/wechat
	}
	return "supp_by_callback"
}

// Origin is the word for how a suppression of the list came into it.
func (list) Origin(s posthouse.Suppression) string { return Origin(s) }

// Origin is the word for how a suppression of the address came into the list.
func (sheet) Origin(s posthouse.Suppression) string { return Origin(s) }

// Key tells a suppression, as it is now, from others and from what is stored in its place later.
func (list) Key(s posthouse.Suppression) string { return keyOf(s) }

// Key is the same of the page of an address.
func (sheet) Key(s posthouse.Suppression) string { return keyOf(s) }

func keyOf(s posthouse.Suppression) string {
	return url.Values{"address": {s.Address}, "channel": {s.Channel}, "at": {s.CreatedAt.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// mostChosen bounds how many are removed at once.
const mostChosen = 1000

// remove takes suppressions out of the list that were chosen, after a look. What was stored anew since the page was drawn stays.
func remove(v *host.Visit) error {
	chosen, err := url.ParseQuery(v.Form("filters"))
	if err != nil {
		chosen = url.Values{}
	}
	l := list{filters: filtersOf(chosen.Get), Note: v.Form("note")}
	keys := v.R.PostForm["entry"]
	if len(keys) == 0 || len(keys) > mostChosen {
		l.Problems = []posthouse.Problem{{Message: v.Say("supp_none_chosen")}}
		return draw(v, http.StatusUnprocessableEntity, l)
	}
	var same, moved []posthouse.Suppression
	for _, key := range keys {
		now, found, err := stored(v, key)
		switch {
		case err != nil:
			return err
		case !found:
			l.Gone++
		case keyOf(now) == key:
			same = append(same, now)
		default:
			moved = append(moved, now)
		}
	}
	if v.Form("sure") == "" {
		return l.look(v, http.StatusOK, append(same, moved...))
	}
	for _, s := range same {
		if err := v.API.Suppressions.Delete(v.Noted(), s.Channel, s.Address); err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound { // two forms of one address go together
			return err
		}
	}
	if len(moved) > 0 {
		l.Moved = true
		return l.look(v, http.StatusConflict, moved)
	}
	q := l.query()
	q.Set("said", Done)
	return v.GoTo(v.At("suppressions") + "?" + q.Encode())
}

// look shows what would be removed; the list where nothing would.
func (l list) look(v *host.Visit, status int, of []posthouse.Suppression) error {
	l.Chosen = of
	return draw(v, status, l)
}

// stored is the suppression that a key of a form names, as it is now.
func stored(v *host.Visit, key string) (posthouse.Suppression, bool, error) {
	of, err := url.ParseQuery(key)
	if err != nil || of.Get("address") == "" {
		return posthouse.Suppression{}, false, nil //nolint:nilerr // what is no key names nothing
	}
	list, err := at(v, of.Get("address"), of.Get("channel"))
	if i := slices.IndexFunc(list, func(s posthouse.Suppression) bool { return s.Address == of.Get("address") }); err == nil && i >= 0 {
		return list[i], true, nil
	}
	return posthouse.Suppression{}, false, err
}

// at are the suppressions of an address in one channel alone, or those in all channels where it is empty.
func at(v *host.Visit, address, channel string) ([]posthouse.Suppression, error) {
	page, err := v.API.Suppressions.List(v.Ctx(), "", address, client.Filter{Limit: leaf})
	slices.SortFunc(page.Items, func(a, b posthouse.Suppression) int { return cmp.Compare(a.Address, b.Address) })
	return slices.DeleteFunc(page.Items, func(s posthouse.Suppression) bool { return s.Channel != channel }), err
}

// Asked is the query of the page, for links.
func (l list) Asked() string { return l.filters.Query() }

// Query is the same as a field of a form has it.
func (l list) Query() string { return l.query().Encode() }
