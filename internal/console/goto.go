package console

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/console/seek"
)

// goals is where the field at the top of each page leads, as somebody types: pages, and things by their names.
type goals struct {
	Words string
	List  []goal
	Tail  bool // the words look like the end of an id, by which nothing is found
}

// goal is a page, or the page of a thing.
type goal struct {
	Kind       string // a word
	Text, Link string
	Title      string // what people call it, beside its name
}

const (
	// mostGoals bounds the things of a kind that are shown.
	mostGoals = 5
	// mostNames bounds the newest campaigns whose names are looked through.
	mostNames = 50
)

func showGoals(v *visit) error {
	g := goals{Words: seek.Plain(v.query("q"))}
	g.pages(v)
	if g.Words != "" {
		for _, look := range []func(*visit) error{g.channels, g.campaigns, g.people, g.byID} {
			if err := look(v); err != nil {
				return err
			}
		}
	}
	exact := func(one goal) int { // what is called so comes before what has it in its name
		if strings.EqualFold(one.Text, g.Words) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(g.List, func(a, b goal) int { return exact(a) - exact(b) })
	g.Tail = len(g.List) == 0 && isTail(g.Words)
	return v.show("goto", "goto", g)
}

// isTail reports whether words are the end of an id as lists show it. No index answers by that.
func isTail(words string) bool {
	const head = "00000000000000000000000000"
	words = strings.ToUpper(words)
	return len(words) == idShown && strings.ContainsAny(words, "0123456789") && posthouse.ValidID(posthouse.MessageID(head[idShown:]+words))
}

// fits reports whether a text has the words in it, in whatever case.
func (g *goals) fits(text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(g.Words))
}

// pages adds the pages of the menu that are called so in either language.
func (g *goals) pages(v *visit) {
	for _, section := range (frame{v: v}).Menu() {
		for _, i := range section.Items {
			if g.fits(say(i.Word, true)) || g.fits(say(i.Word, false)) {
				g.List = append(g.List, goal{Kind: "page", Text: say(i.Word, v.zh), Link: i.Link})
			}
		}
	}
}

func (g *goals) channels(v *visit) error {
	list, err := v.call().Channels.List(v.ctx())
	some := 0
	for _, c := range list {
		if c.Name == g.Words || some < mostGoals && (g.fits(c.Name) || g.fits(c.Title)) {
			some++
			g.List = append(g.List, goal{"channel", c.Name, v.at("channels", c.Name), c.Title})
		}
	}
	return err
}

// campaigns adds those of the newest that are called so, and the one of exactly that name however old it is.
func (g *goals) campaigns(v *visit) error {
	page, err := v.call().Campaigns.List(v.ctx(), "", client.Filter{Limit: mostNames})
	if err != nil {
		return err
	}
	some, exact := 0, false
	for _, c := range page.Items {
		is := c.Name == g.Words
		if is || some < mostGoals && g.fits(c.Name) {
			some++
			g.List = append(g.List, goal{"campaign", c.Name, v.at("campaigns", c.Name), ""})
		}
		exact = exact || is
	}
	if exact || page.Next == "" {
		return nil
	}
	if c, err := v.call().Campaigns.Get(v.ctx(), g.Words); err == nil {
		g.List = append(g.List, goal{"campaign", c.Name, v.at("campaigns", c.Name), ""})
	}
	return nil
}

// people adds the users of the directory whose name or address begins so.
func (g *goals) people(v *visit) error {
	page, err := v.call().Users.Find(v.ctx(), g.Words, mostGoals)
	for _, u := range page.Items {
		g.List = append(g.List, goal{"user", u.ID, v.at("directory", u.ID), u.Name})
	}
	return err
}

// byID adds the delivery or message that has this id.
func (g *goals) byID(v *visit) error {
	if !posthouse.ValidID(posthouse.MessageID(strings.ToUpper(g.Words))) {
		return nil
	}
	id := strings.ToUpper(g.Words)
	if what, to := byID(v, id); to != "" {
		g.List = append(g.List, goal{what, id, to, ""})
	}
	return nil
}
