package ical

import (
	"context"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// who is somebody of an event, as the calendar names them.
type who struct {
	at    int
	texts []string // any of which says who it is
	id    bool     // the text is a user's id: Write wrote it
}

// whoOf are the people of an event.
func (r *reader) whoOf(e *event) (list []who) {
	if l, given := e.has[usersLine]; given && r.o.By == "" {
		for _, id := range plainList(l.value) {
			list = append(list, who{at: l.at, texts: []string{id}, id: true})
		}
		return list
	}
	if r.o.By != BySummary {
		for _, l := range e.asks {
			if w := attendee(l); w != nil {
				list = append(list, *w)
			}
		}
	}
	if summary := e.has["SUMMARY"]; len(list) == 0 && r.o.By != ByAttendee {
		for _, text := range named(plain(summary.value)) {
			list = append(list, who{at: summary.at, texts: []string{text}})
		}
	}
	if len(list) == 0 {
		r.wrong(e.at, "the event names nobody: want users in its %s", map[By]string{"": "attendees or its summary", ByAttendee: "attendees", BySummary: "summary"}[r.o.By])
	}
	return list
}

// attendee is somebody who comes, nil for a room, a group, or somebody who has declined or is told for information.
func attendee(l line) *who {
	for _, kind := range []string{"ROOM", "RESOURCE", "GROUP"} {
		if l.is("CUTYPE", kind) {
			return nil
		}
	}
	if l.is("PARTSTAT", "DECLINED") || l.is("ROLE", "NON-PARTICIPANT") {
		return nil
	}
	w := &who{at: l.at}
	scheme, address, found := strings.Cut(strings.TrimSpace(l.value), ":")
	if !found || !strings.EqualFold(scheme, "mailto") {
		address = l.value
	}
	local, _, _ := strings.Cut(address, "@")
	for _, text := range []string{address, strings.TrimSpace(l.params["CN"]), local} {
		if text != "" {
			w.texts = append(w.texts, text)
		}
	}
	if len(w.texts) == 0 {
		return nil
	}
	return w
}

// named are the people of a summary such as 李娜, or "duty: li.na, wang.fang": what stands before a colon says what it is about.
func named(summary string) (list []string) {
	if _, after, found := strings.Cut(summary, "："); found {
		summary = after
	} else if _, after, found := strings.Cut(summary, ": "); found {
		summary = after
	}
	for _, text := range strings.FieldsFunc(summary, func(c rune) bool { return strings.ContainsRune("\n,，、;；", c) }) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// name gives events their users.
func (r *reader) name(ctx context.Context, list []*duty) error {
	known, full := map[string][]string{}, false
	called := func(text string) ([]string, error) {
		ids, asked := known[text]
		if full = full || !asked && len(known) == maxNames; asked || full {
			return ids, nil
		}
		ids, err := r.o.People.Called(ctx, text)
		known[text] = ids
		return ids, err
	}
	for _, d := range list {
		for _, w := range d.who {
			user, wrong, err := r.userOf(w, called)
			if err != nil {
				return err
			}
			if full {
				r.problems = nil
				r.wrong(0, "it names more than %d different people", maxNames)
				return nil
			}
			if wrong == "" {
				wrong = wrongUser(user)
			}
			if d.users = append(d.users, user); wrong != "" {
				r.wrong(w.at, "%s", wrong)
			}
		}
	}
	return nil
}

// userOf is the user whom a text means, or what is wrong with the text.
func (r *reader) userOf(w who, called func(string) ([]string, error)) (user, wrong string, err error) {
	if w.id {
		return w.texts[0], "", nil
	}
	for _, text := range w.texts {
		if user, given := r.o.As[text]; given {
			return user, "", nil
		}
	}
	for _, text := range w.texts {
		ids, err := called(text)
		switch {
		case err != nil:
			return "", "", err
		case len(ids) == 1:
			return ids[0], "", nil
		case len(ids) > 1:
			return "", fmt.Sprintf("%.80q may be %s: say who it is", text, strings.Join(ids[:min(len(ids), 5)], " or ")), nil
		}
	}
	if r.o.Keep {
		return w.texts[0], "", nil
	}
	return "", fmt.Sprintf("%.80q is nobody of the directory, neither by id nor by name or address: say who it is", w.texts[0]), nil
}

// wrongUser says what is wrong with a user's id, "" for nothing.
func wrongUser(id string) string {
	for _, p := range rule.Validate(posthouse.Roster{Days: map[string][]string{"1": {id}}}) {
		return p.Message
	}
	return ""
}
