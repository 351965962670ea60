package console

import (
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// found is what the page of the search shows.
type found struct {
	Asked   string
	Channel string
	Kind    string
	State   string
	States  []posthouse.State
	Users   []posthouse.User // of the directory, that fit the words
	More    bool             // of the directory than were looked through
	List    []posthouse.Delivery
	Next    string // the query of the next page
	Short   bool   // the page is short of what is behind it: nothing newer fits
	Any     bool   // something was asked
	File    string // the query of the file of all pages
}

// asked is what the query of a visit asks for.
func asked(v *visit) found {
	return found{Asked: v.query("q"), Channel: v.query("channel"), Kind: v.query("kind"), State: v.query("state"), States: posthouse.States()}
}

func showSearch(v *visit) error {
	f := asked(v)
	f.Any = f.Asked+f.Channel+f.Kind+f.State != ""
	if posthouse.ValidID(posthouse.MessageID(f.Asked)) {
		if to := v.byID(f.Asked); to != "" {
			return v.goTo(to)
		}
	}
	if err := v.search(&f); err != nil {
		return err
	}
	q := v.r.URL.Query()
	q.Del("cursor")
	f.File = "?" + q.Encode()
	return v.show("search", "search", f)
}

// byID is the page of the delivery or message that an id names, empty where there is none.
func (v *visit) byID(id string) string {
	if _, err := v.call().Deliveries.Get(v.ctx(), id); err == nil {
		return v.at("deliveries", id)
	}
	if _, err := v.call().Messages.Page(v.ctx(), id, "", 1); err == nil {
		return v.at("messages", id)
	}
	return ""
}

// mostUsers bounds how many users of the directory that fit are shown with their deliveries.
const mostUsers = 5

// search looks for deliveries: of a user by the id, of users of the directory by name or address, and by the ref of a kind.
func (v *visit) search(f *found) error {
	filter := f.filter()
	filter.Cursor, filter.Limit = v.query("cursor"), pageLength
	if f.Asked == "" {
		return v.list(f, filter)
	}
	filter.User = f.Asked
	if err := v.list(f, filter); err != nil || filter.Cursor != "" {
		return err
	}
	filter.User = ""
	if of, ok := f.byRef(filter); ok {
		if err := v.append(f, of); err != nil {
			return err
		}
	}
	return v.byDirectory(f, filter)
}

// filter is what is asked for besides the words.
func (f *found) filter() client.Filter {
	filter := client.Filter{Channel: f.Channel, Kind: f.Kind}
	if s := posthouse.State(f.State); s.Valid() {
		filter.States = []posthouse.State{s}
	}
	return filter
}

// byRef asks for what the words name, if they may be a kind and a ref.
func (f *found) byRef(filter client.Filter) (client.Filter, bool) {
	kind, ref, ok := strings.Cut(f.Asked, "/")
	if !ok {
		kind, ref = f.Kind, f.Asked
	}
	filter.Kind, filter.Ref = kind, ref
	return filter, kind != ""
}

// list fills in a page of what a filter selects.
func (v *visit) list(f *found, filter client.Filter) error {
	page, err := v.call().Deliveries.List(v.ctx(), filter)
	if err != nil {
		return err
	}
	f.List = page.Items
	if page.Next != "" {
		q := v.r.URL.Query()
		q.Set("cursor", page.Next)
		f.Next, f.Short = "?"+q.Encode(), len(page.Items) < filter.Limit
	}
	return nil
}

// append adds what another filter selects, the newest first.
func (v *visit) append(f *found, filter client.Filter) error {
	filter.Cursor = ""
	page, err := v.call().Deliveries.List(v.ctx(), filter)
	if posthouse.CodeOf(err) == posthouse.CodeInvalid {
		return nil // what was asked for is nothing that a filter takes
	}
	if err != nil {
		return err
	}
	for _, d := range page.Items {
		if !slices.ContainsFunc(f.List, func(have posthouse.Delivery) bool { return have.ID == d.ID }) {
			f.List = append(f.List, d)
		}
	}
	slices.SortFunc(f.List, func(a, b posthouse.Delivery) int { return strings.Compare(b.ID, a.ID) })
	return nil
}

// byDirectory adds what users got whose name or address begins with the text.
func (v *visit) byDirectory(f *found, filter client.Filter) error {
	page, err := v.call().Users.Find(v.ctx(), f.Asked, mostUsers+2)
	if err != nil {
		return err
	}
	for _, u := range page.Items {
		if u.ID == f.Asked {
			continue
		}
		if f.More = len(f.Users) == mostUsers; f.More {
			return nil
		}
		f.Users = append(f.Users, u)
		filter.User = u.ID
		if err := v.append(f, filter); err != nil {
			return err
		}
	}
	return nil
}

// Of is the address of the search for something.
func (f frame) Of(text string) string { return f.At("search") + "?q=" + url.QueryEscape(text) }
