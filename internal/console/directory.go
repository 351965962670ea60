package console

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/wire"
)

// book is what the page of the directory shows.
type book struct {
	Asked    string // a part of an id or name, or an address
	Role     string
	Lacks    string // a channel in which people have no address
	Channels []string
	List     []posthouse.User
	Next     string
	Import   bool
	CSV      string
	Prune    bool
	Look     *wire.UsersReplaced
	Warnings []string // of the look
	Moved    bool     // somebody else has changed the directory since an earlier look
	Problems []posthouse.Problem
}

// What people lack, and their roles, have no index: such a filter looks through parts of the directory until a page is full or mostLeafed
// parts are done, and the next page goes on.
const (
	leaf       = 200
	mostLeafed = 5
)

// noAddress asks for people who have no address in any channel.
const noAddress = "*"

func showDirectory(v *visit) error {
	b := book{Asked: v.query("q"), Role: v.query("role"), Lacks: v.query("lacks")}
	if err := b.read(v); err != nil {
		return err
	}
	return v.show("directory", "directory", &b)
}

// read fills in a page of users, and the channels to choose from.
func (b *book) read(v *visit) error {
	channels, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return err
	}
	for _, c := range channels {
		b.Channels = append(b.Channels, c.Name)
	}
	if b.Asked != "" {
		return b.find(v)
	}
	size, cursor := leaf, v.query("cursor")
	if !b.Filtered() {
		size = 4 * pageLength
	}
	for range mostLeafed {
		page, err := v.call().Users.List(v.ctx(), client.Filter{Cursor: cursor, Limit: size})
		if err != nil {
			return err
		}
		for _, u := range page.Items {
			if b.wants(u) {
				b.List = append(b.List, u)
			}
		}
		if cursor = page.Next; cursor == "" || len(b.List) >= 4*pageLength || !b.Filtered() {
			break
		}
	}
	if cursor != "" {
		q := v.r.URL.Query()
		q.Set("cursor", cursor)
		b.Next = "?" + q.Encode()
	}
	return nil
}

// find fills in the users who fit the words, as many as a page has.
func (b *book) find(v *visit) error {
	page, err := v.call().Users.Find(v.ctx(), b.Asked, 4*pageLength)
	for _, u := range page.Items {
		if b.wants(u) {
			b.List = append(b.List, u)
		}
	}
	return err
}

// Filtered reports whether not everybody is asked for.
func (b *book) Filtered() bool { return b.Asked+b.Role+b.Lacks != "" }

// wants reports whether a filter selects a user.
func (b *book) wants(u posthouse.User) bool {
	switch {
	case b.Role != "" && !slices.Contains(u.Roles, b.Role):
		return false
	case b.Lacks == noAddress:
		return len(u.Addresses) == 0
	}
	return b.Lacks == "" || u.Addresses[b.Lacks] == ""
}

// Reached are the channels in which a user has an address, in order.
func (b *book) Reached(u posthouse.User) []string { return slices.Sorted(maps.Keys(u.Addresses)) }

// importDirectory shows what a CSV would change, and stores it when it is confirmed.
func importDirectory(v *visit) error {
	b := book{Import: true, CSV: v.form("csv"), Prune: v.form("prune") != ""}
	if file, _, err := v.r.FormFile("file"); err == nil {
		defer file.Close()
		if text, err := io.ReadAll(file); err == nil && len(text) > 0 {
			b.CSV = string(audience.Text(text))
		}
	}
	if b.CSV == "" {
		b.Problems = problemAt("file", say("book_no_file", v.zh))
		return b.again(v)
	}
	would, err := v.call().Users.ReplaceFrom(v.ctx(), true, []byte(b.CSV))
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		b.Problems = coded.Problems
		if len(b.Problems) == 0 {
			b.Problems = problemAt("file", coded.Message)
		}
		return b.again(v)
	}
	if err != nil {
		return err
	}
	b.look(would)
	if v.form("sure") == "" {
		return b.again(v)
	}
	ctx := withNote(client.IfMatch(v.ctx(), cmp.Or(v.form("confirm"), "none")), v.form("note"))
	if b.Prune {
		_, err = v.call().Users.ReplaceFrom(ctx, false, []byte(b.CSV))
	} else {
		_, err = v.call().Users.Import(ctx, []byte(b.CSV))
	}
	if b.Moved = posthouse.CodeOf(err) == posthouse.CodeChanged; b.Moved {
		if would, err = v.call().Users.ReplaceFrom(v.ctx(), true, []byte(b.CSV)); err != nil {
			return err
		}
		b.look(would)
		return b.again(v)
	}
	if err != nil {
		return err
	}
	return v.goTo(v.at("directory") + "?said=stored")
}

// look takes what the file would change. Without prune managers who are not in the file stay, so they are no warning.
func (b *book) look(would wire.UsersStored) {
	b.Look, b.Warnings = would.Replaced, would.Warnings
	if !b.Prune {
		b.Warnings = slices.DeleteFunc(b.Warnings, func(w string) bool { return !strings.HasPrefix(w, "there is no channel") })
	}
}

// again draws the page with the file as it was sent.
func (b *book) again(v *visit) error {
	if err := b.read(v); err != nil {
		return err
	}
	status := http.StatusOK
	if len(b.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	if b.Moved {
		status = http.StatusConflict
	}
	return v.draw(status, "directory", "directory", b)
}

// Undecided says that a file which is shown is not stored.
func (b *book) Undecided() bool { return true }

// Nothing reports whether all would stay as it is.
func (b *book) Nothing() bool {
	return len(b.Look.Added)+len(b.Look.Changed) == 0 && !(b.Prune && len(b.Look.Removed) > 0)
}

// mostNamed bounds how many ids a look names.
const mostNamed = 50

// Named are the ids that the look has room for.
func (b *book) Named(ids []string) []string { return ids[:min(len(ids), mostNamed)] }
