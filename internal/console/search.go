package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/seek"
)

// found is what the page of the search shows.
type found struct {
	seek.Question
	seek.Found
	times
	States []posthouse.State
	Ranks  []posthouse.Priority
	Older  string // the query of the next page
	File   string // the query of the file of all pages
	narrowing
	Problems []posthouse.Problem
}

// asked is what the query of a visit asks for.
func asked(v *visit) (f found, err error) {
	f = found{States: posthouse.States(), Ranks: posthouse.Priorities()}
	if f.times, err = questionOf(v, v.query, &f.Question); err != nil {
		return f, err
	}
	var problems []posthouse.Problem
	if s := posthouse.State(f.State); s != "" && !s.Valid() {
		problems = problemAt("state", channel.Want(s, f.States))
	}
	if p := posthouse.Priority(f.Priority); p != "" && !p.Valid() {
		problems = append(problems, problemAt("priority", channel.Want(p, f.Ranks))...)
	}
	return f, posthouse.Invalid("nothing can be searched for", problems)
}

// times are those of a question as fields of a form have them.
type times struct{ From, To string }

// questionOf reads a question out of an address or a form.
func questionOf(v *visit, value func(name string) string, q *seek.Question) (t times, err error) {
	t = times{From: value("since"), To: value("until")}
	*q = seek.Question{
		Words: seek.Plain(value("q")), Channel: value("channel"), Kind: value("kind"), Account: value("account"), State: value("state"), Reason: value("reason"),
		Priority: value("priority"), Known: value("known") != "", Ref: value("ref") != "",
	}
	q.Reason = catalog.ReasonOf(q.Reason)
	if q.Channel != "" {
		if q.Channel, err = v.channelOf(q.Channel); err != nil {
			return t, err
		}
	}
	var problems []posthouse.Problem
	for _, at := range []struct {
		name string
		text *string
		into *time.Time
	}{{"since", &t.From, &q.Since}, {"until", &t.To, &q.Until}} {
		if *at.text == "" {
			continue
		}
		if *at.into, err = momentOf(*at.text, zoneFor(v)); err != nil {
			problems = append(problems, posthouse.Problem{Path: at.name, Message: err.Error()})
			continue
		}
		*at.text = at.into.In(zoneFor(v)).Format(inField)
	}
	return t, posthouse.Invalid("the time is none", problems)
}

// channelOf is the channel that somebody means: of that name, or else of that name in other letters or that title. A name of none stays: what a
// channel has sent is there for longer than the channel.
func (v *visit) channelOf(text string) (string, error) {
	list, err := v.channels()
	if err != nil {
		return text, err
	}
	for _, fits := range []func(posthouse.Channel) bool{
		func(c posthouse.Channel) bool { return c.Name == text },
		func(c posthouse.Channel) bool { return strings.EqualFold(c.Name, text) },
		func(c posthouse.Channel) bool { return strings.EqualFold(c.Title, text) },
	} {
		if i := slices.IndexFunc(list, fits); i >= 0 {
			return list[i].Name, nil
		}
	}
	return text, nil
}

// channels are those of the tenant, read once for a page; none where the person may not see them.
func (v *visit) channels() (list []posthouse.Channel, err error) {
	if v.channelsRead == nil {
		if list, err = v.call().Channels.List(v.ctx()); err != nil {
			return nil, hiddenFrom(err)
		}
		v.channelsRead = &list
	}
	return *v.channelsRead, nil
}

// Stranger reports whether what narrows the search is a channel that is not there.
func (f found) Stranger() bool {
	return f.Channel != "" && f.Named && !slices.Contains(f.Names, f.Channel)
}

// Tail reports whether the words look like the end of an id.
func (f found) Tail() bool { return isTail(f.Words) }

// Entitled says what the search is narrowed to.
func (f found) Entitled(in frame) string {
	var by []string
	for _, c := range f.Active {
		by = append(by, in.Short(c.Word))
	}
	if len(by) == 0 {
		return ""
	}
	return strings.Join(by, " · ") + " · " + in.T("search")
}

// Narrow reports whether something is asked for that most searches leave open.
func (f found) Narrow() bool { return f.Account+f.Reason+f.Priority+f.From+f.To != "" }

// seeker asks on behalf of a visit.
func seeker(v *visit) seek.Seeker { return seek.Seeker{API: v.call(), Page: pageLength} }

func showSearch(v *visit) error {
	f, err := asked(v)
	if err != nil {
		return f.refused(v, err)
	}
	if id := strings.ToUpper(f.Words); posthouse.ValidID(posthouse.MessageID(id)) { // which are copied out of addresses in small letters too
		if _, to := byID(v, id); to != "" {
			return v.goTo(to)
		}
	}
	if f.Found, err = seeker(v).Find(v.ctx(), f.Question, v.query("cursor")); err != nil {
		return f.refused(v, err)
	}
	q := v.r.URL.Query()
	q.Del("cursor")
	f.File = "?" + q.Encode()
	if f.Next != "" {
		q.Set("cursor", f.Next)
		switch {
		case f.Found.Known:
			q.Set("known", "1")
		case f.Found.Ref:
			q.Set("ref", "1")
		case f.User != "":
			q.Set("q", f.User)
		}
		f.Older = "?" + q.Encode()
	}
	if f.narrowing, err = narrowingOf(v, f.Question, f.Found); err != nil {
		return err
	}
	return v.show("search", "search", f)
}

// refused shows what was asked for with what is wrong with it; other errors are returned.
func (f *found) refused(v *visit, err error) error {
	if f.Problems = refusalOf(err, ""); f.Problems == nil {
		return err
	}
	for i := range f.Problems {
		p := &f.Problems[i]
		if p.Path = strings.TrimPrefix(p.Path, "query."); p.Path == "until" && strings.HasSuffix(p.Message, "later than since") {
			p.Message = say("want_after_since", v.zh)
		}
	}
	if f.narrowing, err = narrowingOf(v, seek.Question{}, seek.Found{}); err != nil {
		return err
	}
	return v.draw(http.StatusUnprocessableEntity, "search", "search", *f)
}

// Field says where a problem is by what the form of the search calls the field.
func (found) Field(in frame, path string) where {
	word := map[string]string{"since": "since", "until": "made_before", "state": "state", "priority": "priority", "channel": "channel", "kind": "kind"}[path]
	if word == "" {
		return in.Where(path)
	}
	return where{path, in.T(word), in.colon()}
}

// byID is which of a delivery or a message an id names, and its page; empty where there is none.
func byID(v *visit, id string) (what, to string) {
	if _, err := v.call().Deliveries.Get(v.ctx(), id); err == nil {
		return "delivery", v.at("deliveries", id)
	}
	if _, err := v.call().Messages.Page(v.ctx(), id, "", 1); err == nil {
		return "message", v.at("messages", id)
	}
	return "", ""
}

// Of is the address of the search for something.
func (f frame) Of(text string) string { return f.At("search") + "?q=" + url.QueryEscape(text) }
