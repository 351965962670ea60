package content

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

func TestATextIsChosenByLanguage(t *testing.T) {
	t.Parallel()
	all := posthouse.Template{Language: "zh", Texts: map[string]posthouse.TemplateText{"en": {Text: "en"}, "zh-Hant": {Text: "zh-Hant"}, "pt-BR": {Text: "pt-BR"}}}
	unnamed := posthouse.Template{Texts: map[string]posthouse.TemplateText{"en": {Text: "en"}}}
	for _, c := range []struct {
		of     posthouse.Template
		wanted []string
		want   string
	}{
		{all, []string{"en"}, "en"},
		{all, []string{"en-GB"}, "en"},
		{all, []string{"zh-CN", "en"}, ""}, // the template's own is one of its languages
		{all, []string{"zh-TW"}, "zh-Hant"},
		{all, []string{"de", "en"}, "en"},
		{all, []string{"", "en"}, "en"},
		{all, []string{"de", "fr"}, ""},
		{all, nil, ""},
		{unnamed, []string{"zh", "en"}, "en"}, // nothing says that its own is Chinese
		{unnamed, []string{"zh"}, ""},
		{posthouse.Template{Language: "zh"}, []string{"en"}, ""},
	} {
		if got := Choose(c.of, c.wanted...); got != c.want {
			t.Errorf("%q of %q gets %q, want %q", c.wanted, c.of.Language, got, c.want)
		}
	}
}

// readers is a store of one template and of what people read.
type readers struct {
	Store
	of posthouse.Template
}

func (r readers) Template(context.Context, string, string, int) (posthouse.Template, error) {
	return r.of, nil
}

func (readers) Languages(context.Context, string, []string) (map[string]string, string, error) {
	return map[string]string{"ann": "en", "li": "zh", "ben": "en-GB"}, "fr", nil
}

func TestRecipientsOfAMessageStandTogetherByLanguage(t *testing.T) {
	t.Parallel()
	of := posthouse.Template{Name: "t", Text: "你好 ${name}", Language: "zh", Texts: map[string]posthouse.TemplateText{"en": {Text: "hello ${name}"}, "fr": {Text: "salut ${name}"}}}
	c := Contents{Store: readers{of: of}}
	m := &posthouse.Message{ID: "m", Tenant: "t", Template: "t", Version: 1, Payload: json.RawMessage(`{"name":"x"}`)}
	plain := &posthouse.Message{ID: "p", Content: posthouse.Content{Text: "plain"}}
	var items []work.Item
	for _, user := range []string{"ann", "li", "ben", "eve"} {
		items = append(items, work.Item{Message: m, Delivery: posthouse.Delivery{Message: "m", Recipient: posthouse.Recipient{User: user}}})
	}
	items = append(items, work.Item{Message: plain, Delivery: posthouse.Delivery{Message: "p", Recipient: posthouse.Recipient{User: "ann"}}})
	if err := c.Localize(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		text := item.Message.Content.Text
		if item.Message == m {
			fresh, wrong, err := c.Fresh(t.Context(), m, item.Language, time.Now())
			if err != nil || wrong != "" {
				t.Fatal(wrong, err)
			}
			text = fresh.Content.Text
		}
		got = append(got, item.Delivery.User+": "+text)
	}
	if diff := cmp.Diff([]string{"li: 你好 x", "ann: hello x", "ben: hello x", "eve: salut x", "ann: plain"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
