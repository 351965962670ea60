package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/seek"
)

// narrowing is how a list of deliveries is narrowed down, and can be further.
type narrowing struct {
	Active  []choice   // what narrows it, each with the page without it
	Facets  []facet    // what it can be narrowed to
	Looked  int        // how many of the newest the counts are of
	Least   bool       // there are older ones: each count is of as many at least
	Periods []choice   // times to choose from
	Views   []view     // that the person's browser keeps
	Named   bool       // Names are those of all channels
	Names   []string   // of the channels
	Kinds   []string   // of the newest messages
	Reasons []string   // in the visitor's words: those of the rows, and then all that are known
	Query   url.Values // the query of the page, without what is of the page alone
}

// facet are the values that some rows have of one field.
type facet struct {
	Word    string
	Choices []choice
}

const (
	// mostLooked is how many of the newest rows are counted by their fields.
	mostLooked = 200
	// mostChoices bounds the choices of a field.
	mostChoices = 8
)

// periods are lengths of time that lists are narrowed to, the words with which they stand on pages, and how the address has them.
func periods() []choice {
	return []choice{{Name: "15m", Word: "period_quarter"}, {Name: "1h", Word: "span_hour"}, {Name: "24h", Word: "span_day"}, {Name: "168h", Word: "span_week"}}
}

// narrowingOf counts the newest rows by their fields. A list that is narrowed by what no index answers is counted as far as the page shows
// it: no second look goes through what the first had to.
func narrowingOf(v *visit, q seek.Question, found seek.Found) (n narrowing, err error) {
	n.Query = v.r.URL.Query()
	for _, name := range []string{"cursor", "known", "ref", "said"} {
		n.Query.Del(name)
	}
	channels, err := v.channels()
	if err != nil {
		return n, err
	}
	n.Named = len(channels) > 0
	for _, c := range channels {
		n.Names = append(n.Names, c.Name)
	}
	sample := found.List
	n.Least = found.Next != ""
	if wide := q.Words+q.Kind+q.Account+q.Reason+q.Priority == ""; wide && len(sample) == pageLength {
		filter := q.Filter()
		filter.Limit = mostLooked
		page, err := v.call().Deliveries.List(v.ctx(), filter)
		if err != nil {
			return n, err
		}
		sample, n.Least = page.Items, page.Next != ""
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
	n.Reasons = reasonWords(f, reasons)
	kinds, err := kindsOf(v, q, sample)
	for kind := range kinds {
		n.Kinds = append(n.Kinds, kind)
	}
	slices.Sort(n.Kinds)
	add("kind", "kind", q.Kind, kinds, self)
	return err
}

// kindsOf counts deliveries by the kind of their messages; none where the messages cannot be listed by what narrows the deliveries.
func kindsOf(v *visit, q seek.Question, sample []posthouse.Delivery) (map[string]int, error) {
	if q.Words+q.Kind+q.Reason+q.Priority != "" || len(sample) == 0 {
		return nil, nil
	}
	filter := q.Filter()
	filter.Limit = len(sample) // no more messages than deliveries: the newest deliveries are of the newest messages
	page, err := v.call().Messages.List(v.ctx(), filter)
	if err != nil {
		return nil, hiddenFrom(err)
	}
	of, kinds := map[string]string{}, map[string]int{}
	for _, m := range page.Items {
		of[m.ID] = m.Kind
	}
	for _, d := range sample {
		kinds[of[d.Message]]++
	}
	delete(kinds, "")
	return kinds, nil
}

// reasonWords are the words of reasons to choose from, those that rows have first.
func reasonWords(f frame, rows map[string]int) (words []string) {
	for code := range rows {
		words = append(words, f.ReasonWord(code))
	}
	slices.Sort(words)
	known := len(words)
	for _, r := range catalog.Reasons() {
		words = append(words, f.ReasonWord(r.English))
	}
	slices.Sort(words[known:])
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(words, func(w string) bool {
		was := seen[w]
		seen[w] = true
		return was
	})
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
