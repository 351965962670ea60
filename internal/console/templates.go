package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/difference"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/wire"
)

// sheet is what the page of a template shows.
type sheet struct {
	posthouse.Template        // the version that is looked at
	Newest             int    // of its versions
	Moved              bool   // somebody else has stored a version since the page was drawn
	Other              *texts // the version beside it, nil for none
	Channels           []posthouse.Channel
	Channel            string
	Payload            string // JSON, as it is filled
	Reads              string // the language of whom the text is shown for; empty for the typed text
	Draft              *posthouse.Template
	Uses               []choice // what names it and sends by it
	Made               *wire.Previewed
	Problems           []posthouse.Problem
	Foreign            *foreignText        // a text in another language that was refused
	Setting            *posthouse.Template // settings that were refused
}

// blank is what the form of a new template shows.
type blank struct {
	posthouse.Template
	Problems []posthouse.Problem
}

func showNewTemplate(v *visit) error { return v.show("new-template", "new_template", blank{}) }

// makeTemplate stores the first version of a template, where there is none of its name.
func makeTemplate(v *visit) error {
	t, wrong := typed(v, posthouse.Template{Name: v.form("name")})
	b := blank{Template: t}
	refuse := func(problems []posthouse.Problem) error {
		b.Problems = problems
		return v.draw(http.StatusUnprocessableEntity, "new-template", "new_template", b)
	}
	if b.Name == "" {
		return refuse(problemAt("name", say("name_missing", v.zh)))
	}
	if wrong != nil {
		return refuse(wrong)
	}
	_, err := v.call().Templates.Put(withNote(client.IfNew(v.ctx()), v.form("note")), b.Template)
	switch {
	case err == nil:
		return v.goTo(v.at("templates", b.Name) + "?said=stored")
	case posthouse.CodeOf(err) == posthouse.CodeChanged:
		return refuse(problemAt("name", say("name_taken", v.zh)))
	}
	if problems := refusalOf(err, "text"); problems != nil {
		return refuse(problems)
	}
	return err
}

// typed is a template as its form says it, and what is wrong with that before the server is asked. A form without fields for the type and the extra
// leaves them as they are.
func typed(v *visit, t posthouse.Template) (posthouse.Template, []posthouse.Problem) {
	t.Title, t.Text = v.form("title"), strings.ReplaceAll(v.r.PostFormValue("text"), "\r\n", "\n")
	if !v.r.PostForm.Has("extra") {
		return t, nil
	}
	t.Type, t.Extra = posthouse.ContentType(v.form("type")), nil
	if extra := v.form("extra"); extra != "" {
		t.Extra = json.RawMessage(extra)
	}
	if len(t.Extra) > 0 && !json.Valid(t.Extra) {
		return t, problemAt("extra", say("want_json", v.zh))
	}
	return t, nil
}

// Types are the types of content that a template may make, the channel's own first.
func (blank) Types() []posthouse.ContentType { return templateTypes() }

// Types are the types of content that a template may make, the channel's own first.
func (*sheet) Types() []posthouse.ContentType { return templateTypes() }

func templateTypes() []posthouse.ContentType {
	return append([]posthouse.ContentType{""}, slices.DeleteFunc(posthouse.ContentTypes(), posthouse.ContentType.HasMedia)...)
}

// Lines is a JSON as somebody reads and types it: a member a line. What is no JSON is as it was typed.
func (blank) Lines(text json.RawMessage) string { return lines(text) }

// Lines is a JSON as somebody reads and types it: a member a line. What is no JSON is as it was typed.
func (*sheet) Lines(text json.RawMessage) string { return lines(text) }

func lines(text json.RawMessage) string {
	var b bytes.Buffer
	if parsed, err := render.ParseJSON(text); err != nil || json.Indent(&b, parsed.Text(), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// texts is how one version differs from another.
type texts struct {
	Version            int
	Title, Text, Extra []difference.Change
}

// differing is how a version came to say what another one says.
func differing(version int, from, to *posthouse.Template) *texts {
	return &texts{version, difference.Lines(from.Title, to.Title), difference.Lines(from.Text, to.Text), difference.Lines(special(from), special(to))}
}

// special is all that a template says besides its title and text, as text.
func special(t *posthouse.Template) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(string(t.Type))
	add(lines(t.Extra))
	add(strings.Join(settingLines(t), "\n"))
	for _, tag := range slices.Sorted(maps.Keys(t.Texts)) {
		in := t.Texts[tag]
		add(tag + ": " + in.Title)
		add(in.Text)
		add(lines(in.Extra))
	}
	return strings.Join(parts, "\n")
}

// settingLines are the settings of a template as the API names them, one a line.
func settingLines(t *posthouse.Template) (list []string) {
	for _, one := range [][2]string{{"language", t.Language}, {"external_id", t.ExternalID}, {"parameters", strings.ReplaceAll(form.PairsText(t.Parameters), "\n", ", ")}} {
		if one[1] != "" {
			list = append(list, one[0]+": "+one[1])
		}
	}
	for _, one := range []struct {
		name string
		on   bool
	}{{"lenient", t.Lenient}, {"disabled", t.Disabled}} {
		if one.on {
			list = append(list, one.name+": true")
		}
	}
	return list
}

func showTemplate(v *visit) error {
	s := sheet{Channel: v.query("channel")}
	if err := s.read(v, atoi(v.query("version")), atoi(v.query("with"))); err != nil {
		return err
	}
	return v.show("template", "templates", &s)
}

// atoi is a number of the address, 0 for none.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return max(n, 0)
}

// read reads a version, the latest for 0, and how another one differs, for 0 the one before it.
func (s *sheet) read(v *visit, version, with int) (err error) {
	api, name := v.call().Templates, v.r.PathValue("name")
	latest, err := api.Get(v.ctx(), name, 0)
	if err != nil {
		return err
	}
	s.Template, s.Newest = latest, latest.Version
	if version > 0 && version != latest.Version {
		if s.Template, err = api.Get(v.ctx(), name, version); err != nil {
			return err
		}
	}
	if with == 0 {
		with = s.Version - 1
	}
	if with > 0 && with != s.Version {
		other, err := api.Get(v.ctx(), name, with)
		if err != nil {
			return err
		}
		s.Other = differing(with, &other, &s.Template)
	}
	if s.Uses, err = usesOf(v, name); err != nil {
		return err
	}
	s.Channels, err = v.call().Channels.List(v.ctx())
	if s.Payload == "" {
		s.Payload = samplePayload(s.Variables)
	}
	return err
}

// usesOf are the routes, digests, fronts, campaigns, schedules and reminders that name a template.
func usesOf(v *visit, name string) (list []choice, err error) {
	routes, err := v.call().Routes.List(v.ctx())
	if err = hiddenFrom(err); err != nil {
		return nil, err
	}
	for _, r := range routes {
		if slices.ContainsFunc(r.Steps, func(s posthouse.RouteStep) bool {
			return s.Template == name || slices.Contains(slices.Collect(maps.Values(s.Templates)), name)
		}) {
			list = append(list, choice{Name: r.Name, Word: "route", Link: v.at("routes", r.Name)})
		}
	}
	digests, err := v.call().Digests.List(v.ctx())
	for _, d := range digests {
		if d.Template == name {
			list = append(list, choice{Name: d.Name, Word: "digest", Link: v.at("digests")})
		}
	}
	if err = hiddenFrom(err); err != nil {
		return nil, err
	}
	fronts, err := v.call().Fronts.List(v.ctx())
	for i := range fronts {
		if fronts[i].Template == name {
			list = append(list, choice{Name: fronts[i].Name, Word: "front", Link: v.at("fronts", fronts[i].Name)})
		}
	}
	if err = hiddenFrom(err); err != nil {
		return nil, err
	}
	campaigns, err := campaignsOf(v, name)
	if err = hiddenFrom(err); err != nil {
		return nil, err
	}
	reminders, err := remindersOf(v, name)
	return slices.Concat(list, campaigns, reminders), hiddenFrom(err)
}

// remindersOf are the schedules and reminders that send a template and have not ended, as far as the longest page has them. Those
// without a name are called by when they come, or by what they are about.
func remindersOf(v *visit, template string) (list []choice, err error) {
	page, err := v.call().Reminders.List(v.ctx(), client.Filter{Limit: mostReminding})
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		r := &page.Items[i]
		if r.Draft.Template != template || r.State == posthouse.ReminderEnded {
			continue
		}
		c := choice{Name: cmp.Or(strings.TrimSpace(r.Draft.Kind+" "+r.Draft.Ref), r.ID), Word: "reminder", Link: v.at("reminders", r.ID)}
		if r.Repeat != nil && r.Repeat.Cron != "" {
			c.Name, c.Word = r.Repeat.Cron, "schedule"
		}
		if !posthouse.ValidID(r.ID) && c.Name != r.ID {
			c.Name = r.ID + " · " + c.Name
		}
		list = append(list, c)
	}
	return list, nil
}

// mostReminding bounds how many reminders are looked through.
const mostReminding = 1000

// campaignsOf are the campaigns that send a template and have not ended, as far as one page of each state has them.
func campaignsOf(v *visit, template string) (list []choice, err error) {
	for _, state := range posthouse.CampaignStates() {
		if state.Final() {
			continue
		}
		page, err := v.call().Campaigns.List(v.ctx(), state, client.Filter{Limit: mostUsing})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if c := &page.Items[i]; c.Template == template {
				list = append(list, choice{Name: c.Name, Word: "campaign", Link: v.at("campaigns", c.Name)})
			}
		}
	}
	return list, nil
}

// mostUsing bounds how many campaigns of a state are looked through.
const mostUsing = 200

// Languages are those besides that of the title and text, in order.
func (s *sheet) Languages() []string { return slices.Sorted(maps.Keys(s.Texts)) }

// samplePayload names each variable, so that somebody only types the values.
func samplePayload(variables []string) string {
	fields := map[string]any{}
	for _, name := range variables {
		put(fields, strings.Split(name, "."), name)
	}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return "{}"
	}
	return string(text)
}

// put sets a field of an object within objects.
func put(fields map[string]any, path []string, value string) {
	if len(path) == 1 {
		if _, there := fields[path[0]]; !there {
			fields[path[0]] = value
		}
		return
	}
	inner, ok := fields[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		fields[path[0]] = inner
	}
	put(inner, path[1:], value)
}

// tryTemplate shows what a payload makes of a text, as typed or as stored; a text that is typed is stored when it is confirmed.
func tryTemplate(v *visit) error {
	s := sheet{Channel: v.form("channel"), Payload: v.r.PostFormValue("payload"), Reads: v.form("language")}
	if err := s.read(v, atoi(v.form("version")), atoi(v.form("with"))); err != nil {
		return err
	}
	ask := wire.Preview{Payload: json.RawMessage(s.Payload), Channel: s.Channel, Title: s.Title, Text: s.Text, Type: s.Type, Extra: s.Extra, Lenient: s.Lenient}
	if v.r.PostFormValue("text")+v.form("extra") != "" {
		var d posthouse.Template
		d, s.Problems = typed(v, s.Template)
		s.Draft, ask.Title, ask.Text, ask.Type, ask.Extra = &d, d.Title, d.Text, d.Type, d.Extra
		if newest := v.form("newest"); newest != "" && newest != strconv.Itoa(s.Newest) && s.Problems == nil {
			return s.both(v, d)
		}
	}
	if s.Reads != "" {
		ask = wire.Preview{Payload: ask.Payload, Channel: s.Channel, Language: s.Reads}
	}
	if !json.Valid(ask.Payload) {
		s.Problems = append(s.Problems, problemAt("payload", say("want_json", v.zh))...)
	}
	if s.Problems != nil {
		return v.draw(http.StatusUnprocessableEntity, "template", "templates", &s)
	}
	made, err := v.call().Templates.Preview(v.ctx(), s.Name, ask)
	if err != nil {
		if s.Problems = refusalOf(err, "text"); s.Problems == nil {
			return err
		}
		return v.draw(http.StatusUnprocessableEntity, "template", "templates", &s)
	}
	s.Made = &made
	return v.show("template", "templates", &s)
}

// storeTemplate stores a new version of a template, over the one that the page showed.
func storeTemplate(v *visit) error {
	s := sheet{}
	if err := s.read(v, 0, 0); err != nil {
		return err
	}
	t, wrong := typed(v, s.Template)
	s.Draft = &t
	return s.store(v, t, wrong)
}

// store stores a version over the one that the page showed, unless something is wrong with it.
func (s *sheet) store(v *visit, t posthouse.Template, wrong []posthouse.Problem) error {
	if s.Problems = wrong; wrong != nil {
		return v.draw(http.StatusUnprocessableEntity, "template", "templates", s)
	}
	if v.form("newest") != strconv.Itoa(s.Newest) {
		return s.both(v, t)
	}
	_, err := v.call().Templates.Put(withNote(client.IfMatch(v.ctx(), s.Tag()), v.form("note")), t)
	if err == nil {
		return v.goTo(v.at("templates", t.Name) + "?said=stored")
	}
	if posthouse.CodeOf(err) == posthouse.CodeChanged {
		if err := s.read(v, 0, 0); err != nil {
			return err
		}
		return s.both(v, t)
	}
	if s.Problems = refusalOf(err, "text"); s.Problems == nil {
		return err
	}
	if s.Foreign != nil {
		s.Problems = ofLanguage(s.Problems, s.Foreign.Language)
	}
	return v.draw(http.StatusUnprocessableEntity, "template", "templates", s)
}

// ofLanguage are the problems of a text in another language at the fields of its form.
func ofLanguage(problems []posthouse.Problem, tag string) []posthouse.Problem {
	list := slices.Clone(problems)
	for i := range list {
		if of, is := strings.CutPrefix(list[i].Path, "texts."+tag); is {
			list[i].Path = cmp.Or(strings.TrimPrefix(of, "."), "language")
		}
	}
	return list
}

// foreignText is a template's text in another language, as a form shows it and was sent.
type foreignText struct {
	Template           string
	Newest             int
	Language           string
	Stored             bool
	Open               bool // it was refused
	Problems           []posthouse.Problem
	Title, Text, Extra string
}

// In is the form of the text in a language, of a new one without it.
func (s *sheet) In(language string) foreignText {
	if f := s.Foreign; f != nil && (f.Stored && f.Language == language || language == "" && !f.Stored) {
		f.Open, f.Problems = true, s.Problems
		return *f
	}
	f := foreignText{Template: s.Name, Newest: s.Newest, Language: language}
	if t, ok := s.Texts[language]; ok {
		f.Stored, f.Title, f.Text, f.Extra = true, t.Title, t.Text, lines(t.Extra)
	}
	return f
}

// storeText stores a template's text in another language, or takes it out.
func storeText(v *visit) error {
	s := sheet{}
	if err := s.read(v, 0, 0); err != nil {
		return err
	}
	tag := v.form("language")
	_, there := s.Texts[tag]
	stored := v.form("stored") != ""
	s.Foreign = &foreignText{
		Template: s.Name, Newest: s.Newest, Language: tag, Stored: stored,
		Title: v.form("title"), Text: strings.ReplaceAll(v.r.PostFormValue("text"), "\r\n", "\n"), Extra: v.form("extra"),
	}
	t := s.Template
	if t.Texts = maps.Clone(t.Texts); t.Texts == nil {
		t.Texts = map[string]posthouse.TemplateText{}
	}
	if v.form("do") == "remove" {
		delete(t.Texts, tag)
		return s.store(v, t, nil)
	}
	text := posthouse.TemplateText{Title: s.Foreign.Title, Text: s.Foreign.Text}
	if s.Foreign.Extra != "" {
		text.Extra = json.RawMessage(s.Foreign.Extra)
	}
	var wrong []posthouse.Problem
	switch {
	case tag == "":
		wrong = problemAt("language", say("language_missing", v.zh))
	case there && !stored, tag == t.Language:
		wrong = problemAt("language", say("language_there", v.zh))
	}
	if len(text.Extra) > 0 && !json.Valid(text.Extra) {
		wrong = append(wrong, problemAt("extra", say("want_json", v.zh))...)
	}
	t.Texts[tag] = text
	return s.store(v, t, wrong)
}

// Set is the template whose settings the form shows.
func (s *sheet) Set() posthouse.Template { return *cmp.Or(s.Setting, &s.Template) }

// ParameterLines are the parameters of the provider's template, one a line.
func (s *sheet) ParameterLines() string { return form.PairsText(s.Set().Parameters) }

// storeTemplateSettings stores what a template is besides its texts.
func storeTemplateSettings(v *visit) error {
	s := sheet{}
	if err := s.read(v, 0, 0); err != nil {
		return err
	}
	r := form.Reader{Sent: v.form, Has: v.has, Say: func(name string) string { return say(name, v.zh) }}
	t := s.Template
	t.Language, t.ExternalID, t.Lenient, t.Disabled = v.form("language"), v.form("external_id"), v.form("lenient") != "", v.form("disabled") != ""
	t.Parameters = form.ReadPairs[string](&r, "parameters")
	s.Setting = &t
	return s.store(v, t, r.Problems)
}

// Undecided says that a text which is shown is not stored.
func (s *sheet) Undecided() bool { return true }

// both shows how the version that somebody else has stored meanwhile differs from what was typed.
func (s *sheet) both(v *visit, mine posthouse.Template) error {
	s.Moved = true
	s.Other = differing(s.Version, &s.Template, &mine)
	return v.draw(http.StatusConflict, "template", "templates", s)
}

// Versions are the ones to choose from, the newest first.
func (s *sheet) Versions() []int {
	const most = 50
	var list []int
	for n := s.Newest; n > 0 && len(list) < most; n-- {
		list = append(list, n)
	}
	return list
}

// Typed is the text that the form shows.
func (s *sheet) Typed() posthouse.Template {
	if s.Draft != nil {
		return *s.Draft
	}
	return s.Template
}

// Changed reports whether anything differs.
func (t *texts) Changed() bool {
	for _, list := range [][]difference.Change{t.Title, t.Text, t.Extra} {
		for _, c := range list {
			if c.Mark != "" {
				return true
			}
		}
	}
	return false
}
