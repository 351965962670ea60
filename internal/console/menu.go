package console

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// section is a part of the menu as a person sees it.
type section struct {
	Word  string
	Items []item
}

// item leads to a page.
type item struct {
	Word, Link string
	Current    bool
	// Counted says that things of the page may need somebody, and Count is how many do.
	Counted bool
	Count   int
}

// Menu are the pages that the person's role reaches in the tenant of the page; outside of tenants, in the first that lets the person in.
func (f frame) Menu() []section {
	tenant, key := f.home()
	if tenant == "" || f.Wall() {
		return nil
	}
	counts := f.v.needed(tenant, key)
	counted := countedEntries()
	var list []section
	for _, g := range menu() {
		s := section{Word: g.Word}
		for _, e := range g.Entries {
			if web.Permit(key, e.use) == nil && (e.Word != "people" || tenant == posthouse.DefaultTenant) {
				s.Items = append(s.Items, item{Word: e.Word, Link: addressOf(tenant, e.Path), Current: f.v.tenant != "" && e.Word == f.entry(), Counted: slices.Contains(counted, e.Word), Count: counts[e.Word]})
			}
		}
		if len(s.Items) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// countedEntries are the entries of the menu that say how much needs somebody.
func countedEntries() []string { return []string{"attention", "channels"} }

// Aside is what of a page changes beside its part that refreshes itself: how old it is, and the counts of its menu.
func (f frame) Aside() string {
	aside := "#as-of"
	for _, section := range f.Menu() {
		for _, i := range section.Items {
			if i.Counted {
				aside += ",#count-" + i.Word
			}
		}
	}
	return aside
}

// Counting is the address of the counts of the menu.
func (f frame) Counting() string {
	tenant, _ := f.home()
	return addressOf(tenant, "counts")
}

// asideTrigger is what a request names that a browser makes by itself for the counts of a menu: nothing that goes wrong with it is worth leaving
// a page that somebody reads, or a form that somebody fills in.
const asideTrigger = "needs"

// alone is what a page shows that stands in no frame.
type alone struct{}

// Alone reports whether the page stands in no frame: a browser takes it into the one that it has.
func (f frame) Alone() bool {
	_, is := f.D.(alone)
	return is
}

// showCounts answers with the counts of the menu alone.
func showCounts(v *visit) error { return v.show("counts", "overview", alone{}) }

// entry is the entry of the menu that the page belongs to.
func (f frame) entry() string {
	switch f.Page {
	case "delivery", "message":
		return "search"
	case "notification":
		return "notifications"
	case "collection", "digest":
		return "digests"
	case "route":
		return "routes"
	case "suppression":
		return "suppressions"
	case "new_campaign":
		return "campaigns"
	case "account", "new_account", newForm, editForm:
		return "channels"
	case "new_template":
		return "templates"
	case "new_tenant":
		return "tenants"
	case "server_settings", "doctor":
		return "system"
	case "quiet":
		if f.v.r.PathValue("name") != "" { // of a channel
			return "channels"
		}
	}
	return f.Page
}

// home is the tenant that the menu leads through, and what the person may do there; empty where there is none.
func (f frame) home() (string, posthouse.Key) {
	if f.v.tenant != "" {
		return f.v.tenant, f.v.key
	}
	for _, tenant := range f.Tenants() {
		if key, ok := people.KeyOf(f.v.person.Person, tenant); ok {
			return tenant, key
		}
	}
	return "", posthouse.Key{}
}

// crumb is a step of the way from the menu to the page.
type crumb struct{ Text, Link string }

// Crumbs are the way to a page that shows one thing: its list, and the thing.
func (f frame) Crumbs() []crumb {
	thing, link := f.thing()
	if thing == "" || f.v.tenant == "" {
		return nil
	}
	var list []crumb
	for _, g := range menu() {
		for _, e := range g.Entries {
			if e.Word == f.entry() {
				list = append(list, crumb{f.T(e.Word), f.At(e.Path)})
			}
		}
	}
	if link == f.v.r.URL.EscapedPath() {
		link = ""
	}
	list = append(list, crumb{thing, link})
	if account := f.v.r.PathValue("account"); account != "" {
		at := crumb{account, f.At("channels", thing, "accounts", account)}
		if at.Link == f.v.r.URL.EscapedPath() {
			at.Link = ""
		}
		list = append(list, at)
	}
	return list
}

// Thing is the name or id of what the page shows, empty for a list.
func (f frame) Thing() string {
	thing, _ := f.thing()
	if account := f.v.r.PathValue("account"); account != "" {
		return account + " · " + thing
	}
	return thing
}

// entitled is what a page shows that has a title of its own, empty for that of its kind.
type entitled interface{ Entitled(f frame) string }

// filtered is what a list shows whose address may ask for one state alone; the word is that of the state, empty for none.
type filtered interface{ OfState() string }

// Heading is the title of the page: what it shows, and of what kind that is.
func (f frame) Heading() string {
	title := f.T(f.Title)
	if f.Wall() {
		title = f.T("wall") + " · " + title
	}
	if e, some := f.D.(entitled); some {
		if own := e.Entitled(f); own != "" {
			return own
		}
	}
	if list, some := f.D.(filtered); some && f.v.query("state")+f.v.query("held") != "" {
		if word := list.OfState(); word != "" {
			return f.T(word) + " · " + title
		}
	}
	if thing := f.Thing(); thing != "" {
		return f.Short(thing) + " · " + title
	}
	return title
}

// OfState is the word of the state that the list is of.
func (a attention) OfState() string { return a.State }

// OfState is the word of the state that the list is of.
func (b board) OfState() string { return chosen(b.States) }

// OfState is the word of the state that the list is of.
func (p campaignsPage) OfState() string { return chosen(p.States) }

// OfState is the word of the state that the list is of.
func (p phonesPage) OfState() string { return chosen(p.States) }

// chosen is the word of the entry that is chosen, empty for none.
func chosen(list []choice) string {
	if i := slices.IndexFunc(list, func(c choice) bool { return c.Current }); i >= 0 {
		return list[i].Word
	}
	return ""
}

// thing is what the address of the page names first, and the address of that.
func (f frame) thing() (name, link string) {
	path := f.v.r.URL.EscapedPath()
	for _, wildcard := range []string{"name", "id", "driver"} {
		if name = f.v.r.PathValue(wildcard); name == "" {
			continue
		}
		segment := "/" + url.PathEscape(name)
		if at := strings.Index(path+"/", segment+"/"); at >= 0 {
			return name, path[:at+len(segment)]
		}
	}
	return "", ""
}

// needs remembers for a moment how much needs somebody, by tenant: each page of each visitor shows it in its menu.
type needs struct {
	mu   sync.Mutex
	kept map[string]need
}

type need struct {
	at     time.Time
	counts map[string]int // by the entry of the menu
}

const (
	// needsFor is how old the counts of a menu may be.
	needsFor = 5 * time.Second
	// mostNeeds bounds the tenants whose counts are remembered.
	mostNeeds = 1000
)

// needed counts what needs somebody, by the entry of the menu; nil where it cannot be read now.
func (v *visit) needed(tenant string, key posthouse.Key) map[string]int {
	v.needs.mu.Lock()
	kept, some := v.needs.kept[tenant]
	v.needs.mu.Unlock()
	if some && time.Since(kept.at) < needsFor {
		return kept.counts
	}
	kept = need{at: time.Now()}
	ctx := actingFor(v.r.Context(), key, v.r)
	if o, err := v.call().Overview(ctx, "", 1); err == nil {
		unsure, quarantined := stuck(o.Lanes)
		kept.counts = map[string]int{"attention": unsure + quarantined}
		if channels, err := v.call().Channels.List(ctx); err == nil {
			kept.counts["channels"] = len(slices.DeleteFunc(channels, isOpen))
		}
	}
	v.needs.mu.Lock()
	defer v.needs.mu.Unlock()
	if v.needs.kept == nil || len(v.needs.kept) > mostNeeds {
		v.needs.kept = map[string]need{}
	}
	v.needs.kept[tenant] = kept
	return kept.counts
}

// forget has the counts of a tenant read anew: somebody has just changed something.
func (n *needs) forget(tenant string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.kept, tenant)
}

// stuck counts what is unknown and what is quarantined.
func stuck(lanes []wire.OverviewLane) (unsure, quarantined int) {
	for _, l := range lanes {
		unsure += l.Unknown
		quarantined += l.Quarantined
	}
	return unsure, quarantined
}

// isOpen reports whether a channel sends.
func isOpen(c posthouse.Channel) bool { return c.State == "" || c.State == posthouse.ChannelOpen }
