package content

import (
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Languages says what people read. A Store has it, or else each recipient gets a template's own text.
type Languages interface {
	// Languages are what users read, as far as it is known, and what a tenant's people read in general.
	Languages(ctx context.Context, tenant string, users []string) (own map[string]string, general string, err error)
}

// In is a template with what it says in a language that it has: its own for the empty one, and for one that is gone.
func In(t posthouse.Template, tag string) posthouse.Template {
	if text, has := t.Texts[tag]; has {
		t.Title, t.Text, t.Language = text.Title, text.Text, tag
		if len(text.Extra) > 0 {
			t.Extra = text.Extra
		}
	}
	return t
}

// Choose is the language in which a template is read by somebody who reads these, the first that fits: empty for the template's own.
// Regions and scripts fit as BCP 47 means them: zh-CN reads zh, and zh-TW does not.
func Choose(t posthouse.Template, wanted ...string) string {
	if len(t.Texts) == 0 {
		return ""
	}
	names := append([]string{t.Language}, slices.Sorted(maps.Keys(t.Texts))...)
	tags := make([]language.Tag, len(names))
	for i, name := range names {
		tags[i] = language.Make(name) // what cannot be read fits nobody
	}
	for _, want := range wanted {
		tag, err := language.Parse(want)
		if want == "" || err != nil {
			continue
		}
		switch _, i, sure := language.NewMatcher(tags).Match(tag); {
		case sure < language.High || names[i] == "":
		case i == 0:
			return ""
		default:
			return names[i]
		}
	}
	return ""
}

// Localize chooses for each item the language of its template's text, and puts items of one message together that have the same. Items
// of a message stand beside each other, before and after.
func (c *Contents) Localize(ctx context.Context, items []work.Item) error {
	from, able := c.Store.(Languages)
	if !able {
		return nil
	}
	for rest := items; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Delivery.Message == rest[0].Delivery.Message {
			n++
		}
		if err := c.localize(ctx, from, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// localize is Localize for the items of one message.
func (c *Contents) localize(ctx context.Context, from Languages, items []work.Item) error {
	m := items[0].Message
	if m == nil || m.Template == "" || m.Unreadable != "" {
		return nil
	}
	t, err := c.known.get(ctx, c.Store, templateKey{m.Tenant, m.Template, m.Version})
	if posthouse.CodeOf(err) == posthouse.CodeNotFound || err == nil && len(t.Texts) == 0 {
		return nil // as it was accepted
	}
	if err != nil {
		return err
	}
	var users []string
	for i := range items {
		if user := items[i].Delivery.User; user != "" {
			users = append(users, user)
		}
	}
	own, general, err := from.Languages(ctx, m.Tenant, users)
	if err != nil {
		return err
	}
	for i := range items {
		items[i].Language = Choose(t, own[items[i].Delivery.User], general)
	}
	slices.SortStableFunc(items, func(a, b work.Item) int { return strings.Compare(a.Language, b.Language) })
	return nil
}

// Texts are a template in each of its languages, its own first.
func Texts(t posthouse.Template) []posthouse.Template {
	list := []posthouse.Template{t}
	for _, tag := range slices.Sorted(maps.Keys(t.Texts)) {
		list = append(list, In(t, tag))
	}
	return list
}
