package rosters

import (
	"hash/fnv"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/rule"
)

// mostBook bounds how many people of the directory a roster's page knows by name. Beyond that, names are looked up one by one.
const (
	mostBook   = 1000
	mostLooked = 60
)

// book are the people of the directory, as far as a roster's page needs them.
type book struct {
	People []posthouse.User
	Whole  bool            // there are no others
	known  map[string]bool // ids that were looked up one by one
}

// bookOf reads the directory, and whether those are in it who are on duty.
func (d duty) bookOf(users []string) (b book, err error) {
	page, err := d.v.API.Users.List(d.v.Ctx(), client.Filter{Limit: mostBook})
	if err != nil {
		return b, err
	}
	b.People, b.Whole, b.known = page.Items, page.Next == "", map[string]bool{}
	for _, u := range page.Items {
		b.known[u.ID] = true
	}
	if b.Whole {
		return b, nil
	}
	for _, user := range users[:min(len(users), mostLooked)] {
		if _, there := b.known[user]; there {
			continue
		}
		_, err := d.v.API.Users.Get(d.v.Ctx(), user)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return b, err
		}
		b.known[user] = err == nil
	}
	return b, nil
}

// Stranger reports whether the directory has nobody of an id. An empty directory knows nobody, and is no measure.
func (b book) Stranger(user string) bool {
	if len(b.People) == 0 {
		return false
	}
	there, looked := b.known[user]
	return !there && (looked || b.Whole)
}

// Meant is who is called by a name, where just one is; empty for nobody.
func (b book) Meant(name string) string {
	found := ""
	for _, u := range b.People {
		if u.Name == "" || !strings.EqualFold(u.Name, name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = u.ID
	}
	return found
}

// Called is how a user is called, the id where that is not known.
func (b book) Called(user string) string {
	for _, u := range b.People {
		if u.ID == user && u.Name != "" {
			return u.Name
		}
	}
	return user
}

// Named are users with what they are called.
func (b book) Named(users []string) []choice {
	list := make([]choice, len(users))
	for i, user := range users {
		list[i] = choice{ID: user, Name: b.Called(user)}
	}
	return list
}

// settled has the ids of those whom a form calls by their names. What is no id and no name of just one stays, and is marked.
func (b book) settled(users []string) []string {
	out := make([]string, 0, len(users))
	for _, user := range users {
		if b.Stranger(user) {
			if id := b.Meant(user); id != "" {
				user = id
			}
		}
		out = append(out, user)
	}
	return out
}

// usersOf are all who are on duty by a roster.
func usersOf(r posthouse.Roster) (users []string) {
	for _, days := range []map[string][]string{r.Days, r.Overrides} {
		for _, list := range days {
			for _, user := range list {
				if !slices.Contains(users, user) {
					users = append(users, user)
				}
			}
		}
	}
	slices.Sort(users)
	return users
}

// tones is how many colours people have.
const tones = 8

// tonesOf has a colour for each user: the same on each page of a roster, and one of their own for as many as there are colours.
func tonesOf(users []string) map[string]int {
	list, taken := make(map[string]int, len(users)), map[int]bool{}
	for _, user := range users {
		tone := toneOf(user)
		for n := 0; n < tones && taken[tone]; n++ {
			tone = (tone + 1) % tones
		}
		list[user], taken[tone] = tone, true
	}
	return list
}

// toneOf is the colour of a user who is on no roster.
func toneOf(user string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user)) // a hash takes anything
	return int(h.Sum32() % tones)
}

// Tone is the colour of a user.
func (c calendar) Tone(user string) int {
	if tone, ok := c.tones[user]; ok {
		return tone
	}
	return toneOf(user)
}

// Strangers are those on duty of whom the directory knows nothing, in a look those who would be.
func (c calendar) Strangers() (users []string) {
	r := c.Roster
	if c.Look != nil {
		r.Days, r.Overrides = map[string][]string{}, map[string][]string{}
		for _, one := range c.Look.Changed {
			r.Days[one.Day] = one.After
		}
	}
	return slices.DeleteFunc(usersOf(r), func(user string) bool { return !c.Book.Stranger(user) })
}

// Gives is the address of this page on which a user's duty of a date waits for the one that is taken for it.
func (c calendar) Gives(date, user string) string {
	return c.here("give", date+" "+user) + "#calendar"
}

// Opens is the address of this page with the form of a date.
func (c calendar) Opens(date string) string {
	return c.here("day", date) + "#day"
}

// here is the address of this page with one more value.
func (c calendar) here(name, value string) string {
	q := url.Values{"view": {c.View}, name: {value}}
	if c.ahead.IsZero() { // else it is the page that one comes to
		q.Set("date", c.Date)
	}
	return "?" + q.Encode()
}

// Takes reports whether a user's duty of a date may be taken for the one that is given.
func (c calendar) Takes(date, user string) bool {
	return c.Give.User != "" && c.Give.Date != date && c.Give.User != user && !c.Past(date)
}

// Past reports whether the duty of a date is over: nobody takes it any more.
func (c calendar) Past(date string) bool { return date < c.Now.Date }

// giveOf reads which duty is given.
func giveOf(text string) (t rule.Turn) {
	t.Date, t.User, _ = strings.Cut(text, " ")
	return t
}

// choice is somebody who may be on duty on the date of the form.
type choice struct {
	ID, Name string
	On       bool
}

// Choices are the people of the directory, those who are on duty on the date of the form first.
func (c calendar) Choices() (list []choice) {
	on := c.on()
	for _, user := range on {
		list = append(list, choice{user, c.Book.Called(user), true})
	}
	for _, u := range c.Book.People[:min(len(c.Book.People), mostChoices)] {
		if !slices.Contains(on, u.ID) {
			list = append(list, choice{u.ID, u.Name, false})
		}
	}
	return list
}

// mostChoices bounds how many people the form of a date offers; others are typed.
const mostChoices = 60

// on are the users of the form's date.
func (c calendar) on() []string {
	users, _ := rule.UsersOn(c.Roster, c.Day) // of a date that is none there is nobody
	return users
}
