// Package beside puts what is wrong with a form beside the fields that it is about, in a page that is drawn already (ADR 0104). A page draws
// the problems by its part "problems", each with its path; here each goes to the field of that path, in the form that was sent. What is about
// no field stays where the page has drawn it. It knows no page, no form by name, and no texts.
package beside

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/posthouse/posthouse"
)

const (
	// problemAttr holds the path of a problem, as the API names it.
	problemAttr = "data-problem"
	// whereAttr marks the words that say where a problem is.
	whereAttr = "data-where"
	// pathsAttr of a field has the paths that it is about besides its name, with spaces between; * is each that no field is about.
	pathsAttr = "data-paths"
)

// Sent is a form that was sent.
type Sent struct {
	To     string // the path of its action
	Values url.Values
	Unkept []string // fields that hold secrets
	Own    []string // hidden fields that each drawing of a form makes anew
	// Stale says that the page has changed since it was drawn: hidden values, such as versions, are those that it has now.
	Stale bool
	// Where says the path of a problem in the reader's words, empty where there are none. Defaults to none.
	Where func(path string) string
}

// Place moves the problems of a page to their fields. A page that has none, or not the form, stays as it is.
func (s Sent) Place(page []byte) []byte {
	if !bytes.Contains(page, []byte(problemAttr+`="`)) {
		return page
	}
	f := s.in(page)
	if f == nil {
		return page
	}
	f.place()
	if out := f.text(); out != nil {
		return out
	}
	return page
}

// Refuse is the page of a form that was drawn anew, with what was typed in it and with problems: said is what they are of. Where none of them
// is about a field, or the form is there no more, they stand at the top of the page. Nil says that it has no place for them.
func (s Sent) Refuse(page []byte, said string, problems []posthouse.Problem) []byte {
	f := s.read(page)
	if f == nil || f.form == nil && f.main() == nil {
		return nil
	}
	told := []*html.Node{f.tell("", said)}
	for _, p := range problems {
		told = append(told, f.tell(p.Path, p.Message))
	}
	if f.form != nil {
		f.refill()
		f.unfold()
		for _, p := range told {
			f.form.Parent.InsertBefore(p, f.form)
		}
	}
	if f.form == nil || !f.place() {
		f.lift(told)
	}
	return f.text()
}

// lift puts texts at the top of the page.
func (f *drawn) lift(told []*html.Node) {
	top := f.main()
	if top == nil {
		return
	}
	first := top.FirstChild
	for _, p := range told {
		if p.Parent != nil {
			p.Parent.RemoveChild(p)
		}
		top.InsertBefore(p, first)
	}
}

// main is what the page shows, without what all pages have; nil where that is not told apart.
func (f *drawn) main() *html.Node {
	for n := range f.page.Descendants() {
		if n.DataAtom == atom.Main {
			return n
		}
	}
	return nil
}

// drawn is the form as a page has it.
type drawn struct {
	Sent
	page, form *html.Node
}

// in finds the form in a page, nil for none.
func (s Sent) in(text []byte) *drawn {
	if d := s.read(text); d != nil && d.form != nil {
		return d
	}
	return nil
}

// read reads a page and finds the form in it: the one whose hidden values were sent too, where several go to the address.
func (s Sent) read(text []byte) *drawn {
	page, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	d := &drawn{Sent: s, page: page}
	most := -1
	for n := range page.Descendants() {
		if n.DataAtom != atom.Form || !strings.EqualFold(attr(n, "method"), "post") {
			continue
		}
		if like := s.like(n); like > most {
			d.form, most = n, like
		}
	}
	return d
}

// named is more than the hidden values of any form: one that names the address is before one that goes to the address of its page.
const named = 1000

// like is how much a form is like the one that was sent: by its address, and by how many of its hidden values were sent. It is negative for one
// that goes elsewhere.
func (s Sent) like(form *html.Node) (n int) {
	switch to, _, _ := strings.Cut(attr(form, "action"), "?"); to {
	case s.To:
		n = named
	case "":
	default:
		n = -named
	}
	for f := range form.Descendants() {
		switch {
		case attr(f, "formaction") == s.To: // of a button
			n += named
		case attr(f, "type") == "hidden" && !slices.Contains(s.Own, attr(f, "name")) && slices.Contains(s.Values[attr(f, "name")], attr(f, "value")):
			n++
		}
	}
	return n
}

// text is the page, nil where it cannot be written.
func (f *drawn) text() []byte {
	var out bytes.Buffer
	if html.Render(&out, f.page) != nil {
		return nil
	}
	return out.Bytes()
}

// fields are what people fill in of a form.
func (f *drawn) fields() (list []*html.Node) {
	for n := range f.form.Descendants() {
		switch n.DataAtom {
		case atom.Input, atom.Select, atom.Textarea:
			if attr(n, "name") != "" && attr(n, "type") != "hidden" {
				list = append(list, n)
			}
		}
	}
	return list
}

// place moves the problems of the page to their fields, and reports whether it has found one. The first of them gets the cursor.
func (f *drawn) place() bool {
	var problems []*html.Node
	for n := range f.page.Descendants() {
		if n.Type == html.ElementNode && attr(n, problemAttr) != "" {
			problems = append(problems, n)
		}
	}
	fields := f.fields()
	wrong := map[*html.Node]bool{}
	for i, p := range problems {
		field, rest := fieldOf(fields, attr(p, problemAttr))
		if field != nil {
			f.attach(p, field, rest, "wrong-"+strconv.Itoa(i+1))
			wrong[field] = true
		}
	}
	if at := slices.IndexFunc(fields, func(n *html.Node) bool { return wrong[n] }); at >= 0 {
		for n := range f.page.Descendants() {
			unset(n, "autofocus")
		}
		set(fields[at], "autofocus", "")
	}
	return len(wrong) > 0
}

// attach puts a problem behind a field, and opens what the field is folded in. rest is what of the path is within the field.
func (f *drawn) attach(p, field *html.Node, rest, id string) {
	p.Parent.RemoveChild(p)
	p.Data, p.DataAtom = "small", atom.Small
	set(p, "id", id)
	set(p, "class", "bad wrong")
	if at := p.FirstChild; at != nil && (at.DataAtom == atom.Code || has(at, whereAttr)) {
		p.RemoveChild(at)
		if text := p.FirstChild; text != nil {
			text.Data = strings.TrimSpace(text.Data)
		}
		if rest != "" {
			f.says(p, attr(p, problemAttr), rest)
		}
	}
	if attr(field, "type") != "radio" { // which by itself is never wrong
		set(field, "aria-invalid", "true")
	}
	set(field, "aria-describedby", strings.TrimSpace(attr(field, "aria-describedby")+" "+id))
	if group := f.groupOf(field); group != nil {
		group.AppendChild(p)
	} else {
		behind := cmp.Or(f.around(field, atom.Label), field)
		for behind.NextSibling != nil && hasClass(behind.NextSibling, "wrong") {
			behind = behind.NextSibling
		}
		behind.Parent.InsertBefore(p, behind.NextSibling)
	}
	for n := range field.Ancestors() {
		if n.DataAtom == atom.Details {
			set(n, "open", "")
		}
	}
}

// says puts in front of a problem where it is: the words of its path, and else what of the path is to be shown.
func (f *drawn) says(p *html.Node, path, shown string) {
	at := &html.Node{Type: html.ElementNode, Data: "code", DataAtom: atom.Code}
	text := ""
	if f.Where != nil {
		text = f.Where(path)
	}
	if text != "" {
		at.Data, at.DataAtom = "span", atom.Span
		set(at, whereAttr, "")
		at.AppendChild(&html.Node{Type: html.TextNode, Data: text + "："})
	} else {
		at.AppendChild(&html.Node{Type: html.TextNode, Data: shown})
		p.InsertBefore(&html.Node{Type: html.TextNode, Data: " "}, p.FirstChild)
	}
	p.InsertBefore(at, p.FirstChild)
}

// around is the nearest element of a kind around a field, within its form.
func (f *drawn) around(field *html.Node, kind atom.Atom) *html.Node {
	for n := range field.Ancestors() {
		switch {
		case n == f.form:
			return nil
		case n.DataAtom == kind:
			return n
		}
	}
	return nil
}

// groupOf is the group of boxes that a box stands in, nil for a field by itself.
func (f *drawn) groupOf(field *html.Node) *html.Node {
	group := f.around(field, atom.Fieldset)
	if kind := attr(field, "type"); group == nil || kind != "radio" && kind != "checkbox" {
		return nil
	}
	for n := range group.Descendants() {
		if n != field && attr(n, "name") == attr(field, "name") && attr(n, "type") == attr(field, "type") {
			return group
		}
	}
	return nil
}

// fieldOf is the field that a problem is about, and what of its path is within that: the field that has the path, or the longest beginning
// of it; and else of the path without its first names, since the form of one thing names no list of them. Nil says that it is about none.
func fieldOf(fields []*html.Node, path string) (*html.Node, string) {
	whole := path
	for {
		var found *html.Node
		longest := 0
		for _, f := range fields {
			for _, of := range append(strings.Fields(attr(f, pathsAttr)), attr(f, "name")) {
				rest, ok := strings.CutPrefix(path, of)
				if ok && len(of) > longest && (rest == "" || rest[0] == '.' || rest[0] == '[') {
					found, longest = f, len(of)
				}
			}
		}
		if found != nil {
			return found, strings.TrimPrefix(path[longest:], ".")
		}
		at := strings.IndexByte(path, '.')
		if at < 0 {
			break
		}
		path = path[at+1:]
	}
	for _, f := range fields {
		if attr(f, pathsAttr) == "*" {
			return f, whole
		}
	}
	return nil, ""
}

// refill makes a form what was sent of it, but for secrets and files. Of one that could not be read nothing is known.
func (f *drawn) refill() {
	if len(f.Values) == 0 {
		return
	}
	nth := map[string]int{}
	for n := range f.form.Descendants() {
		name, kind := attr(n, "name"), attr(n, "type")
		values, some := f.Values[name]
		switch {
		case f.Stale && kind == "hidden":
		case name == "" || slices.Contains(f.Unkept, name) || slices.Contains(f.Own, name) || kind == "password" || kind == "file":
		case kind == "checkbox" || kind == "radio":
			mark(n, "checked", slices.Contains(values, cmp.Or(attr(n, "value"), "on")))
		case !some || nth[name] >= len(values):
		case n.DataAtom == atom.Select:
			choose(n, values[nth[name]])
			nth[name]++
		case n.DataAtom == atom.Textarea:
			for c := n.FirstChild; c != nil; c = n.FirstChild {
				n.RemoveChild(c)
			}
			n.AppendChild(&html.Node{Type: html.TextNode, Data: values[nth[name]]})
			nth[name]++
		case n.DataAtom == atom.Input:
			set(n, "value", values[nth[name]])
			nth[name]++
		}
	}
}

// choose selects the option of a value, where there is one.
func choose(list *html.Node, value string) {
	for n := range list.Descendants() {
		if n.DataAtom != atom.Option {
			continue
		}
		own := attr(n, "value")
		if !has(n, "value") && n.FirstChild != nil {
			own = strings.TrimSpace(n.FirstChild.Data)
		}
		mark(n, "selected", own == value)
	}
}

// tell is a text as a problem at a path, empty for none.
func (f *drawn) tell(path, text string) *html.Node {
	p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P, Attr: []html.Attribute{{Key: "class", Val: "bad"}, {Key: "role", Val: "alert"}}}
	p.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	if path != "" {
		set(p, problemAttr, path)
		f.says(p, path, path)
	}
	return p
}

// unfold opens what the form is folded in.
func (f *drawn) unfold() {
	for n := range f.form.Ancestors() {
		if n.DataAtom == atom.Details {
			set(n, "open", "")
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func set(n *html.Node, name, value string) {
	unset(n, name)
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

func unset(n *html.Node, name string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// mark sets an attribute that has no value, or takes it away.
func mark(n *html.Node, name string, on bool) {
	if unset(n, name); on {
		set(n, name, "")
	}
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}
