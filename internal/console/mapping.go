package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/wire"
)

// filling is what fills a parameter of the provider's template, as the form of a campaign's plan has it.
type filling struct {
	Name string // empty in the row for a parameter that is not listed
	From string // a column, asText, or empty for nothing
	Text string
}

// asText says in a form that a parameter is filled with a text.
const asText = "="

// Maps reports whether the campaign goes by a template of the provider's, whose parameters are to be filled.
func (f *foresight) Maps() bool {
	return f.Template != "" && (f.Plan.ProviderTemplate != "" || len(f.Plan.Mapping) > 0)
}

// Columns are the variables that may fill a parameter: those of the file, and those that everybody has.
func (f *foresight) Columns() []string {
	named := map[string]bool{}
	for name := range f.People.Fields {
		named[name] = true
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(f.Payload, &all) // it was checked when the campaign was made
	for name := range all {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(named)), func(name string) bool { return columnIn(placeholder(name)) != name })
}

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
func (f *foresight) Fillings() (rows []filling) {
	if f.typed != nil {
		return f.typed
	}
	columns := f.Columns()
	for _, p := range f.Plan.Mapping {
		row := filling{Name: p.Name}
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

// mapColumns keeps which column fills which parameter, and shows the plan that follows from it.
func mapColumns(v *visit) error {
	name := v.r.PathValue("name")
	var f foresight
	change := wire.CampaignChange{Parameters: map[string]string{}}
	for i := 0; v.r.PostForm.Has(fmt.Sprint("name.", i)); i++ {
		field := func(of string) string { return v.form(fmt.Sprint(of, ".", i)) }
		row := filling{field("name"), field("from"), field("text")}
		f.typed = append(f.typed, row)
		switch {
		case row.Name == "" || row.From == "":
		case row.From == asText:
			change.Parameters[row.Name] = row.Text
		default:
			change.Parameters[row.Name] = placeholder(row.From)
		}
	}
	if len(change.Parameters) == 0 {
		change = wire.CampaignChange{Remove: []string{"parameters"}}
	}
	_, err := v.call().Campaigns.Change(withNote(v.ctx(), v.form("note")), name, change)
	if err == nil {
		return v.goTo(v.at("campaigns", name, "plan") + "?said=stored")
	}
	if f.Problem = refusalOf(err, "parameters"); f.Problem == nil {
		return err
	}
	return f.draw(v, http.StatusUnprocessableEntity)
}
