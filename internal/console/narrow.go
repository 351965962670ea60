package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/seek"
)

// narrowing is how a list of deliveries is narrowed down, and can be further.
type narrowing struct {
	Active  []choice   // what narrows it, each with the page without it
	Facets  []facet    // what it can be narrowed to
	Looked  int        // how many of the newest the counts are of
	Periods []choice   // times to choose from
	Views   []view     // that the person's browser keeps
	Names   []string   // of the channels
	Query   url.Values // the query of the page, without what is of the page alone
}

// facet are the values that some rows have of one field.
type facet struct {
	Word    string
	Choices []choice
}

const (
	// mostLooked is how many of the newest rows are counted by their fields, and mostKinds how many messages by their kinds.
	mostLooked, mostKinds = 200, 100
	// mostChoices bounds the choices of a field.
	mostChoices = 8
)

// periods are lengths of time that lists are narrowed to, the words with which they stand on pages, and how the address has them.
func periods() []choice {
	return []choice{{Name: "15m", Word: "period_quarter"}, {Name: "1h", Word: "span_hour"}, {Name: "24h", Word: "span_day"}, {Name: "168h", Word: "span_week"}}
}

// narrowingOf counts the newest rows by their fields. A list that is narrowed by what no index answers is counted as far as the page shows
// it: no second look goes through what the first had to.
func narrowingOf(v *visit, q seek.Question, shown []posthouse.Delivery) (n narrowing, err error) {
	n.Query = v.r.URL.Query()
	for _, name := range []string{"cursor", "known", "ref", "said"} {
		n.Query.Del(name)
	}
	channels, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return n, hiddenFrom(err)
	}
	for _, c := range channels {
		n.Names = append(n.Names, c.Name)
	}
	sample := shown
	if wide := q.Words+q.Kind+q.Account+q.Reason+q.Priority == ""; wide && len(shown) == pageLength {
		filter := q.Filter()
		filter.Limit = mostLooked
		page, err := v.call().Deliveries.List(v.ctx(), filter)
		if err != nil {
			return n, err
		}
		sample = page.Items
	}
	n.Looked = len(sample)
	if err := n.count(v, q, sample); err != nil {
		return n, err
	}
	n.active(v, q)
	n.Periods = periods()
	for i := range n.Periods {
		n.Periods[i].Link, n.Periods[i].Current = n.with("since", n.Periods[i].Name), v.query("since") == n.Periods[i].Name
	}
	n.Views = viewsOf(v.r)
	return n, nil
}

// count makes the choices of the fields by which the list is not narrowed yet.
func (n *narrowing) count(v *visit, q seek.Question, sample []posthouse.Delivery) error {
	f := frame{v: v}
	add := func(word, name, has string, values map[string]int, say func(string) string) {
		delete(values, "")
		if has != "" || len(values) == 0 {
			return
		}
		one := facet{Word: word}
		for value, count := range values {
			one.Choices = append(one.Choices, choice{Name: value, Word: say(value), N: count, Link: n.with(name, value)})
		}
		slices.SortFunc(one.Choices, func(a, b choice) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
		one.Choices = one.Choices[:min(len(one.Choices), mostChoices)]
		n.Facets = append(n.Facets, one)
	}
	states, names, reasons, accounts := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, d := range sample {
		states[string(d.State)]++
		names[d.Channel]++
		reasons[d.Reason]++
		accounts[d.Account]++
	}
	self := func(text string) string { return f.Short(text) }
	add("state", "state", q.State, states, f.T)
	add("channel", "channel", q.Channel, names, self)
	add("reason", "reason", q.Reason, reasons, f.ReasonWord)
	add("account", "account", q.Account, accounts, self)
	if q.Kind != "" || q.Words != "" || len(sample) == 0 {
		return nil
	}
	page, err := v.call().Messages.List(v.ctx(), client.Filter{Channel: q.Channel, Since: q.Since, Until: q.Until, Limit: mostKinds})
	if err != nil {
		return hiddenFrom(err)
	}
	kinds := map[string]int{}
	for _, m := range page.Items {
		kinds[m.Kind]++
	}
	add("kind", "kind", q.Kind, kinds, self)
	return nil
}

// active lists what narrows the list.
func (n *narrowing) active(v *visit, q seek.Question) {
	f := frame{v: v}
	for _, one := range []struct{ word, name, value, shown string }{
		{"search_words", "q", q.Words, f.Short(q.Words)}, {"state", "state", q.State, f.T(q.State)}, {"channel", "channel", q.Channel, q.Channel}, {"kind", "kind", q.Kind, f.Short(q.Kind)},
		{"reason", "reason", q.Reason, f.ReasonWord(q.Reason)}, {"account", "account", q.Account, q.Account}, {"priority", "priority", q.Priority, f.T(q.Priority)},
		{"since", "since", v.query("since"), f.clockOr(q.Since)}, {"made_before", "until", v.query("until"), f.clockOr(q.Until)},
	} {
		if one.value != "" {
			n.Active = append(n.Active, choice{Name: f.T(one.word), Word: one.shown, Link: n.with(one.name, "")})
		}
	}
}

// with is the page with a value in its query, without it where the value is empty.
func (n *narrowing) with(name, value string) string {
	q := url.Values{}
	for k, list := range n.Query {
		if k != name && len(list) > 0 && list[0] != "" {
			q.Set(k, list[0])
		}
	}
	if value != "" {
		q.Set(name, value)
	}
	return "?" + q.Encode()
}

// Asked is the query of the page as a view keeps it.
func (n narrowing) Asked() string {
	return n.with("", "")[1:]
}

// Kept reports whether a query is one that a view can keep.
func (n narrowing) Kept() bool { return len(n.Active) > 0 && len(n.Views) < mostViews }

// Link is the page of a view.
func (v view) Link() string { return "?" + v.Query }

// Number is the number of a view in its list, as the form has it.
func (v view) Number() string { return strconv.Itoa(v.At) }
