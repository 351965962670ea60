package suppressions

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/wire"
)

// form is a suppression as it was typed.
type form struct {
	By       string // user, or empty for an address
	Address  string // or the id of a user
	Channel  string
	Until    string
	Reason   string
	Note     string
	Seen     string // which suppressions it is to replace
	There    []posthouse.Suppression
	Open     bool
	Problems []posthouse.Problem
}

// add suppresses an address, or those of a user of the directory. What somebody else has stored there is shown before it is replaced.
func add(v *host.Visit) error {
	f := form{By: v.Form("by"), Address: v.Form("address"), Channel: v.Form("channel"), Until: v.Form("until"), Reason: v.Form("reason"), Note: v.Form("note"), Seen: v.Form("seen"), Open: true}
	in := wire.SuppressionDraft{Channel: f.Channel, Reason: f.Reason}
	var err error
	if in.Until, err = untilOf(v, f.Until); err != nil {
		f.Problems = append(f.Problems, posthouse.Problem{Path: "until", Message: err.Error()})
	}
	addresses, wrong, err := f.addresses(v)
	if err != nil {
		return err
	}
	if f.Problems = append(f.Problems, wrong...); len(f.Problems) > 0 {
		return f.again(v, http.StatusUnprocessableEntity)
	}
	if err := f.there(v, addresses); err != nil {
		return f.refused(v, err)
	}
	if seen := seenOf(f.There); seen != "" && seen != f.Seen {
		f.Seen = seen
		return f.again(v, http.StatusConflict)
	}
	for _, in.Address = range addresses {
		if _, err := v.API.Suppressions.Add(v.Noted(), in); err != nil {
			return f.refused(v, err)
		}
	}
	if f.By != "" {
		return v.GoTo(v.At("suppressions") + filters{Words: f.Address}.Query() + "&said=stored")
	}
	return v.GoTo(v.At("suppressions", f.Address) + "?said=stored")
}

// addresses are those that the form is of.
func (f *form) addresses(v *host.Visit) ([]string, []posthouse.Problem, error) {
	if f.By == "" {
		return []string{f.Address}, nil, nil
	}
	if f.Address == "" {
		return nil, []posthouse.Problem{{Path: "address", Message: v.Say("supp_no_user")}}, nil
	}
	u, wrong, err := f.user(v)
	switch {
	case err != nil || wrong != "":
		return nil, []posthouse.Problem{{Path: "address", Message: wrong}}, err
	case f.Channel != "" && u.Addresses[f.Channel] != "":
		return []string{u.Addresses[f.Channel]}, nil, nil
	case f.Channel != "":
		return []string{u.ID}, nil, nil // by which a channel reaches who has no address there
	}
	all := append(reached(u), u.ID)
	slices.Sort(all)
	return slices.Compact(all), nil, nil
}

// user is whom the form names: by id, or by a name that nobody else has; wrong says why there is none.
func (f *form) user(v *host.Visit) (u posthouse.User, wrong string, err error) {
	u, err = v.API.Users.Get(v.Ctx(), f.Address)
	if code := posthouse.CodeOf(err); code != posthouse.CodeNotFound && code != posthouse.CodeInvalid {
		return u, "", err
	}
	users, err := whose(v, f.Address)
	users = slices.DeleteFunc(users, func(u posthouse.User) bool { return !named(u, f.Address) })
	switch {
	case err != nil:
		return u, "", err
	case len(users) == 0:
		return u, v.Say("supp_no_user"), nil
	case len(users) > 1:
		var ids []string
		for _, u := range users {
			ids = append(ids, u.ID)
		}
		return u, v.Say("supp_several") + " " + strings.Join(ids, ", "), nil
	}
	return users[0], "", nil
}

// there finds what the form would replace.
func (f *form) there(v *host.Visit, addresses []string) error {
	for _, address := range addresses {
		if address == "" {
			continue // the API says that it is required
		}
		list, err := at(v, address, f.Channel)
		if err != nil {
			return err
		}
		f.There = append(f.There, list...)
	}
	return nil
}

// seenOf tells what is stored from what is stored later.
func seenOf(list []posthouse.Suppression) string {
	var keys []string
	for _, s := range list {
		keys = append(keys, keyOf(s))
	}
	return strings.Join(keys, " ")
}

// refused shows the form with what is wrong with it.
func (f *form) refused(v *host.Visit, err error) error {
	problems, refused := problemsOf(err)
	if !refused {
		return err
	}
	f.Problems = problems
	return f.again(v, http.StatusUnprocessableEntity)
}

// problemsOf are what the API refuses, at the fields of a form; refused is false for any other error.
func problemsOf(err error) (list []posthouse.Problem, refused bool) {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return nil, false
	}
	list = slices.Clone(coded.Problems)
	for i := range list {
		list[i].Path = strings.TrimPrefix(list[i].Path, "query.")
	}
	if len(list) == 0 {
		list = []posthouse.Problem{{Path: "file", Message: coded.Message}}
	}
	return list, true
}

func (f *form) again(v *host.Visit, status int) error {
	if status != http.StatusConflict {
		f.There = nil
	}
	return draw(v, status, list{New: *f})
}

// untilOf reads a time of a form in the visitor's zone; none for never.
func untilOf(v *host.Visit, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, v.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New(v.Say("supp_until_wrong"))
}
