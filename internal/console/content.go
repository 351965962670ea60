package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/wire"
)

// wording is what the page of a campaign's content shows: the text with the columns of its file, what fills the provider's template, and
// what the first members would get.
type wording struct {
	wire.Campaign
	Templates []posthouse.Template
	Chosen    string // of the stored templates; empty for a text of its own
	Subject   string
	Words     string
	Shows     wire.CampaignSamples
	Problems  []posthouse.Problem
	channel   posthouse.Channel
	typed     []filling
}

// filling is what fills a parameter of the provider's template.
type filling struct {
	Name  string // empty in the row for a parameter that is not listed
	From  string // a column, asText, or empty for nothing
	Text  string
	Takes string
}

const (
	// asText says in a form that a parameter is filled with a text.
	asText = "="
	// ownTemplates begins the names of templates that have the text of one campaign.
	ownTemplates = "campaign:"
)

// Undecided says that a text which is shown is not kept.
func (w *wording) Undecided() bool { return true }

func showContent(v *visit) error {
	w, err := wordingOf(v)
	if err != nil {
		return err
	}
	if (march{Campaign: w.Campaign}).Begun() { // what it says is what was sent
		return v.goTo(v.at("campaigns", w.Name))
	}
	w.Chosen = w.Template
	switch {
	case strings.HasPrefix(w.Template, ownTemplates):
		t, err := v.call().Templates.Get(v.ctx(), w.Template, 0)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound { // then it is still to be written
			return err
		}
		w.Chosen, w.Subject, w.Words = "", t.Title, t.Text
	case w.Content != nil:
		w.Subject, w.Words = w.Content.Title, w.Content.Text
	}
	return w.draw(v, wire.CampaignChange{}, http.StatusOK)
}

// wordingOf reads a campaign and what its content may be made of.
func wordingOf(v *visit) (w *wording, err error) {
	w = &wording{}
	if w.Campaign, err = v.call().Campaigns.Get(v.ctx(), v.r.PathValue("name")); err != nil {
		return w, err
	}
	if w.channel, err = senderOf(v, w.Campaign.Channel); err != nil {
		return w, err
	}
	w.Templates, err = storedTemplates(v)
	return w, err
}

// senderOf is a campaign's channel, an empty one where that is gone.
func senderOf(v *visit, name string) (posthouse.Channel, error) {
	ch, err := v.call().Channels.Get(v.ctx(), name)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		err = nil
	}
	return ch, err
}

// storedTemplates are those to choose from: not the texts of single campaigns.
func storedTemplates(v *visit) ([]posthouse.Template, error) {
	list, err := v.call().Templates.List(v.ctx())
	return slices.DeleteFunc(list, func(t posthouse.Template) bool { return strings.HasPrefix(t.Name, ownTemplates) }), err
}

// draw shows what a change would make.
func (w *wording) draw(v *visit, change wire.CampaignChange, status int) error {
	shows, err := v.call().Campaigns.Samples(v.ctx(), w.Name, change)
	if err != nil {
		problems := refusalOf(err, "campaign")
		if problems == nil {
			return err
		}
		if len(w.Problems) == 0 {
			w.Problems, status = problems, http.StatusUnprocessableEntity
		}
	}
	w.Shows = shows
	if v.r.Header.Get("HX-Request") != "" { // while somebody types, what is not whole yet is no refused form
		status = http.StatusOK
	}
	return v.draw(status, "content", "campaigns", w)
}

// change is what the form says.
func (w *wording) change(v *visit) (in wire.CampaignChange) {
	w.Chosen, w.Subject = v.form("template"), v.form("title")
	w.Words = strings.ReplaceAll(v.r.PostFormValue("text"), "\r\n", "\n")
	if column := v.form("put"); column != "" { // without a script a column goes to the end of the text
		w.Words, w.Chosen = w.Words+placeholder(column), ""
	}
	for i := 0; v.r.PostForm.Has(fmt.Sprint("name.", i)); i++ {
		field := func(of string) string { return v.form(fmt.Sprint(of, ".", i)) }
		w.typed = append(w.typed, filling{Name: field("name"), From: field("from"), Text: field("text")})
	}
	switch in = says(w.Chosen, w.Subject, w.Words); {
	case in.Content == nil:
		in.Parameters = filled(w.typed)
	case len(w.Parameters) > 0:
		in.Remove = []string{"parameters"} // they go by columns
	}
	if in.Parameters == nil && len(w.typed) > 0 && len(in.Remove) == 0 {
		in.Remove = []string{"parameters"}
	}
	return in
}

// says is what a campaign says: by a stored template, by a text with columns, or the same for all.
func says(template, title, text string) (in wire.CampaignChange) {
	switch {
	case template != "":
		in.Template = template
	case text == "" || strings.Contains(title+text, "${"):
		in.OwnText = &wire.CampaignText{Title: title, Text: text}
	default:
		in.Content = &posthouse.Content{Title: title, Text: text}
	}
	return in
}

// filled are the parameters of a form's rows, nil for none.
func filled(rows []filling) map[string]string {
	var list map[string]string
	for _, row := range rows {
		if row.Name == "" || row.From == "" {
			continue
		}
		if list == nil {
			list = map[string]string{}
		}
		if list[row.Name] = row.Text; row.From != asText {
			list[row.Name] = placeholder(row.From)
		}
	}
	return list
}

// tryContent shows what the form would make, and keeps nothing of it.
func tryContent(v *visit) error {
	w, err := wordingOf(v)
	if err != nil {
		return err
	}
	return w.draw(v, w.change(v), http.StatusOK)
}

// keepContent keeps what the form says, and goes on to the step that was chosen.
func keepContent(v *visit) error {
	w, err := wordingOf(v)
	if err != nil {
		return err
	}
	change := w.change(v)
	_, err = v.call().Campaigns.Change(withNote(v.ctx(), v.form("note")), w.Name, change)
	if err == nil {
		if v.form("next") == "people" {
			return v.goTo(v.at("campaigns", w.Name) + "?said=stored")
		}
		return v.goTo(v.at("campaigns", w.Name, "plan") + "?said=stored")
	}
	if w.Problems = refusalOf(err, "text"); w.Problems == nil {
		return err
	}
	return w.draw(v, change, http.StatusUnprocessableEntity)
}

// Columns are the variables that a text or a parameter may name: those of the file, and those that everybody has.
func (w *wording) Columns() []string {
	named := map[string]bool{}
	for name := range w.People.Fields {
		named[name] = true
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(w.Payload, &all) // it was checked when the campaign was made
	for name := range all {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(named)), func(name string) bool { return columnIn(placeholder(name)) != name })
}

// Maps reports whether the campaign goes by a template of the provider's, whose parameters are to be filled.
func (w *wording) Maps() bool {
	return w.Shows.ProviderTemplate != "" || len(w.Shows.Mapping) > 0 || len(w.typed) > 0
}

// Lacking are the variables that some records lack, in order.
func (w *wording) Lacking() []string { return slices.Sorted(maps.Keys(w.Shows.Missing)) }

func placeholder(column string) string { return "${" + column + "}" }

// columnIn is the column that alone makes a text, empty for none.
func columnIn(text string) string {
	parsed, err := render.Parse(text)
	if err != nil {
		return ""
	}
	if names := parsed.Variables(); len(names) == 1 && placeholder(names[0]) == text {
		return names[0]
	}
	return ""
}

// Fillings are the rows of the form: as they were typed, or as they are kept, and what has the name of a column is taken for that.
func (w *wording) Fillings() (rows []filling) {
	takes := map[string]string{}
	for _, p := range w.Shows.Mapping {
		takes[p.Name] = p.Takes
	}
	if w.typed != nil {
		for i := range w.typed {
			w.typed[i].Takes = takes[w.typed[i].Name]
		}
		return w.typed
	}
	columns := w.Columns()
	for _, p := range w.Shows.Mapping {
		row := filling{Name: p.Name, Takes: p.Takes}
		column := columnIn(p.Text)
		same := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, p.Name) })
		switch {
		case column != "" && slices.Contains(columns, column):
			row.From = column
		case p.Text != "":
			row.From, row.Text = asText, p.Text
		case same >= 0:
			row.From = columns[same]
		}
		rows = append(rows, row)
	}
	return append(rows, filling{})
}
