package mail

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainOf is an HTML document as plain text: blocks are lines, and links are followed by their addresses.
func plainOf(document string) string {
	p := page{}
	z := html.NewTokenizer(strings.NewReader(document))
	for {
		switch z.Next() {
		case html.ErrorToken: // its end: a text of ours in memory has no other error
			return p.b.String()
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			p.begins(z.Token())
		case html.EndTagToken:
			p.ends(z.Token().DataAtom)
		}
	}
}

// page is the text so far.
type page struct {
	b      strings.Builder
	breaks int  // line breaks before the next word
	space  bool // a space before the next word
	cell   bool // a line between cells before the next word
	inRow  bool // the row of a table has a word already
	asIs   bool // lines are lines
	hidden atom.Atom
	link   string
	begin  int // where the link's text begins
}

// Elements that are no text, that are lines of their own, and that are apart from what is around them.
var (
	unseen = []atom.Atom{atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript}
	lines  = []atom.Atom{atom.Div, atom.Li, atom.Tr, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Dt, atom.Dd, atom.Address}
	apart  = []atom.Atom{atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Ul, atom.Ol, atom.Blockquote, atom.Pre, atom.Hr}
)

func (p *page) begins(t html.Token) {
	if p.hidden != 0 {
		return
	}
	p.block(t.DataAtom)
	switch t.DataAtom {
	case atom.Br:
		p.breaks = min(p.breaks+1, 2)
	case atom.Li:
		p.write("- ")
	case atom.Tr:
		p.inRow, p.cell = false, false
	case atom.Td, atom.Th:
		p.cell = p.inRow
	case atom.Pre:
		p.asIs = true
	case atom.Img:
		p.write(attribute(t, "alt"))
	case atom.A:
		p.link, p.begin = attribute(t, "href"), p.b.Len()
	default:
		if slices.Contains(unseen, t.DataAtom) && t.Type == html.StartTagToken {
			p.hidden = t.DataAtom
		}
	}
}

func (p *page) ends(a atom.Atom) {
	if p.hidden != 0 {
		if a == p.hidden {
			p.hidden = 0
		}
		return
	}
	if a == atom.A {
		said := strings.TrimSpace(p.b.String()[p.begin:])
		if (strings.HasPrefix(p.link, "https://") || strings.HasPrefix(p.link, "http://")) && said != p.link {
			p.write(" (" + p.link + ")")
		}
		p.link, p.begin = "", p.b.Len()
	}
	p.asIs = p.asIs && a != atom.Pre
	p.block(a)
}

// text adds a text of the document.
func (p *page) text(text string) {
	switch {
	case p.hidden != 0:
	case p.asIs:
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				p.breaks = min(p.breaks+1, 2)
			}
			p.write(line)
		}
	default:
		p.write(text)
	}
}

func (p *page) block(a atom.Atom) {
	switch {
	case slices.Contains(apart, a):
		p.breaks = 2
	case slices.Contains(lines, a):
		p.breaks = max(p.breaks, 1)
	}
}

// write adds a text, whose white space says no more than where words end.
func (p *page) write(text string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		p.space = p.space || text != ""
		return
	}
	if p.b.Len() > 0 {
		switch {
		case p.breaks > 0:
			p.b.WriteString(strings.Repeat("\n", p.breaks))
		case p.cell:
			p.b.WriteString(" | ")
		case p.space || strings.TrimLeftFunc(text, unicode.IsSpace) != text:
			p.b.WriteByte(' ')
		}
	}
	p.breaks, p.cell, p.inRow = 0, false, true
	p.b.WriteString(strings.Join(words, " "))
	p.space = strings.TrimRightFunc(text, unicode.IsSpace) != text
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
