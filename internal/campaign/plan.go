package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// callsAll is what a plan says of a campaign that calls everybody.
const callsAll = "calls everybody whom the channel reaches, once for each member: who starts it needs the grant mention_all, or the scope admin"

// samples is how many members a plan shows.
const samples = 5

// Plan says what would happen, before anything is sent.
func (d *Desk) Plan(ctx context.Context, tenant, name string) (wire.CampaignPlan, error) {
	c, err := d.named(ctx, tenant, name)
	if err != nil {
		return wire.CampaignPlan{}, err
	}
	a, err := d.audienceOf(ctx, &c)
	if err != nil {
		return wire.CampaignPlan{}, err
	}
	out := wire.CampaignPlan{
		Members: a.Members, Repeated: a.Repeated, Refused: a.Refused, Segments: segmentsOf(&c, a.Last), CampaignRules: c.CampaignRules,
		Missing: map[string]int64{}, Samples: []wire.CampaignSample{}, Windows: []wire.Window{}, Forecast: []wire.CampaignForecast{}, Mapping: []wire.CampaignParameter{}, Problems: []wire.Flaw{},
	}
	flaw := func(path, message string) {
		out.Problems = append(out.Problems, wire.Flaw{Path: path, Message: message})
	}
	if a.State != posthouse.AudienceReady {
		flaw("people", "the import is not complete")
	} else if a.Members == 0 {
		flaw("people", "nobody is in the audience")
	}
	ch := d.o.Channel(tenant, c.Channel)
	if ch == nil {
		flaw("channel", "the channel "+c.Channel+" is not open")
	} else {
		if out.Suppressed, err = d.suppressed(ctx, &c, &a, ch); err != nil {
			return out, err
		}
		if out.ToldRecently, err = recallOf(&d.o).leavesOut(ctx, &c, &a); err != nil {
			return out, err
		}
		if out.Windows, err = d.quotas(ctx, &c); err != nil {
			return out, err
		}
		begins := cmp.Or(c.StartAt, time.Now())
		switch why, until := d.o.Closed(c.Tenant, c.Channel); {
		case why == "":
		case until.IsZero():
			flaw("channel", why)
		case until.Sub(begins) >= time.Minute: // what passes in a moment changes no plan
			flaw("channel", fmt.Sprintf("nothing is sent before %s: %s", until.Format(time.RFC3339), why))
			begins = until
		}
		out.Step, out.Forecast = Forecast(max(a.Members-out.Suppressed-out.ToldRecently, 0), ch, c.Template, c.Spread.Std(), begins)
		out.Duration = posthouse.Duration(max(Takes(max(a.Members-out.Suppressed-out.ToldRecently, 0), ch, c.Template), c.Spread.Std()))
		if !c.Deadline.IsZero() && begins.Add(out.Duration.Std()).After(c.Deadline) {
			flaw("deadline", "sending takes at least "+out.Duration.String()+" under the channel's limits and the campaign's spread: it ends before everybody is reached")
		}
	}
	t, err := d.templateOf(ctx, &c)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		if c.Template == ownTemplate(c.ID) {
			flaw("own_text", "is not written yet")
		} else {
			flaw("template", fmt.Sprintf("there is no template %.80q", c.Template))
		}
		return out, nil
	}
	if err != nil {
		return out, err
	}
	calls := ""
	if ch != nil {
		calls = callsEverybody(c.Content, c.Payload, t, ch.Opened.CallsEverybody)
	}
	if calls != "" {
		flaw(calls, callsAll)
	}
	if t = filledBy(&c, t); t != nil {
		out.Missing = missing(t, c.Payload, &a)
	}
	own := keptAt(ctx, t, ch)
	first, err := d.try(ctx, &c, &a, t, ch, mostTried, own.id != "")
	if out.Samples = first.samples; err != nil {
		return out, err
	}
	if first.bad > 0 {
		flaw("people", fmt.Sprintf("%d of the first %d cannot be sent to; %s: %s %s", first.bad, first.members, first.first, first.why.Path, first.why.Message))
	}
	out.ProviderTemplate, out.Mapping = own.id, mapping(t, own, ch)
	if len(first.samples) > 0 {
		for _, text := range own.unfilled(first.leaves) {
			flaw("template", text)
		}
	}
	return out, nil
}

// shortestQuota is the shortest window that a plan shows: shorter ones only make it slower, and Duration says so.
const shortestQuota = posthouse.Duration(time.Hour)

// quotas are the long windows of a campaign's channel and accounts, as they are used now.
func (d *Desk) quotas(ctx context.Context, c *work.Campaign) ([]wire.Window, error) {
	list := []wire.Window{}
	if d.o.Windows == nil {
		return list, nil
	}
	all, err := d.o.Windows(ctx, c.Tenant, c.Channel)
	for _, w := range all {
		if w.Per >= shortestQuota {
			list = append(list, w)
		}
	}
	return list, err
}

// templateOf is the newest version of a campaign's template, nil where it has a content.
func (d *Desk) templateOf(ctx context.Context, c *work.Campaign) (*posthouse.Template, error) {
	if c.Template == "" {
		return nil, nil
	}
	t, err := d.o.Templates.Template(ctx, c.Tenant, c.Template, c.Version)
	return &t, err
}

// missing counts, for each variable of a template, the records that do not have it.
func missing(t *posthouse.Template, payload json.RawMessage, a *work.Audience) map[string]int64 {
	out := map[string]int64{}
	given, err := render.Fields(payload)
	if err != nil {
		return out // the samples say so
	}
	for _, variable := range content.Variables(*t) { // whoever reads what
		name, _, _ := strings.Cut(variable, ".")
		if n := a.Last - max(a.Fields[variable], a.Fields[name]); n > 0 && given[name] == nil && given[variable] == nil {
			out[variable] = n
		}
	}
	return out
}

var errEnough = errors.New("enough members")

// mostTried is of how many members a plan looks whether they can be sent to.
const mostTried = 10_000

// tried is what a plan has found of the first members.
type tried struct {
	samples []wire.CampaignSample // of the first of all
	members int64
	bad     int64
	leaves  json.RawMessage // of the first
	first   string          // who cannot be sent to
	why     posthouse.Problem
}

// try makes what the first members would get, at most so many. filled says that a template of the provider's is filled, which gets no text.
func (d *Desk) try(ctx context.Context, c *work.Campaign, a *work.Audience, t *posthouse.Template, ch *state.Channel, most int64, filled bool) (tried, error) {
	out, letter := tried{samples: []wire.CampaignSample{}}, NewLetter(c, t)
	open := letter // which leaves a placeholder open that nothing fills, where letter refuses
	if t != nil {
		lenient := *t
		lenient.Lenient = true
		open = NewLetter(c, &lenient)
	}
	list, err := d.first(ctx, a, most)
	if err != nil {
		return out, err
	}
	reads, err := d.reads(ctx, c, letter, ch, list)
	if err != nil {
		return out, err
	}
	var also []string
	if ch != nil {
		also = ch.Opened.Names
	}
	for _, m := range list {
		language := reads(m.Address)
		made, leaves, problems := letter.For(m, language, also)
		if ch != nil && ch.Opened.Content != nil && len(problems) == 0 {
			problems = ch.Opened.Content(made)
		}
		if ch != nil && ch.Opened.Parameters != nil && len(problems) == 0 {
			problems = ch.Opened.Parameters(leaves)
		}
		if out.members == 0 {
			out.leaves = leaves
		}
		if out.members++; len(problems) > 0 {
			if out.bad++; out.bad == 1 {
				out.first, out.why = m.Address, problems[0]
			}
		}
		if len(out.samples) < samples {
			if len(problems) > 0 {
				made, leaves, _ = open.For(m, language, also)
			}
			s := wire.CampaignSample{Seq: m.Seq, Address: m.Address, Content: made, Problems: []wire.Flaw{}}
			if filled || t != nil && (t.ExternalID != "" || len(t.Parameters) > 0) {
				s.Payload = leaves
			}
			for _, p := range problems {
				s.Problems = append(s.Problems, wire.Flaw{Path: p.Path, Message: p.Message})
			}
			out.samples = append(out.samples, s)
		}
	}
	return out, nil
}

// first are the first members of an audience, at most so many.
func (d *Desk) first(ctx context.Context, a *work.Audience, most int64) (list []audience.Member, err error) {
	twice := d.o.Importer.Repeated(ctx, *a)
	err = d.o.Importer.Members(ctx, *a, 1, a.Last, func(m audience.Member) error {
		again, err := twice(m.Seq)
		if err != nil || again {
			return err
		}
		if list = append(list, m); int64(len(list)) == most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

// reads says in which language members read what a letter says.
func (d *Desk) reads(ctx context.Context, c *work.Campaign, letter *Letter, ch *state.Channel, list []audience.Member) (func(address string) string, error) {
	if !letter.Speaks() || d.o.Languages == nil {
		return func(string) string { return "" }, nil
	}
	_, general, err := d.o.Languages.Languages(ctx, c.Tenant, nil)
	if err != nil {
		return nil, err
	}
	users, err := new(Users).Of(ctx, d.o.Directory, ch, list)
	return letter.Read(users, general), err
}

// askTemplates is how long a provider may take to say which templates it keeps: a plan holds without.
const askTemplates = 5 * time.Second

// kept is the provider's own template that a campaign goes by.
type kept struct {
	id        string // empty for none
	described bool   // the provider says what it keeps
	found     bool   // and this is among it
	is        channel.ProviderTemplate
}

// keptAt asks the provider of a channel for its template: where it does not say, what is known of it is its name.
func keptAt(ctx context.Context, t *posthouse.Template, ch *state.Channel) (k kept) {
	if t != nil {
		k.id = t.ExternalID
	}
	if ch == nil {
		return k
	}
	lister, keeps := ch.Opened.Driver.(channel.TemplateLister)
	for i := 0; !keeps && i < len(ch.Opened.Accounts); i++ { // each account keeps the same, or some of its messages fail in any case
		lister, keeps = ch.Opened.By(ch.Opened.Accounts[i].Name).(channel.TemplateLister)
	}
	if !keeps {
		return k
	}
	if k.id = lister.TemplateOf(k.id); k.id == "" {
		return k
	}
	ctx, cancel := context.WithTimeout(ctx, askTemplates)
	defer cancel()
	list, err := lister.Templates(ctx)
	if err != nil {
		return k
	}
	k.described = true
	if at := slices.IndexFunc(list, func(one channel.ProviderTemplate) bool { return one.ID == k.id }); at >= 0 {
		k.is, k.found = list[at], true
	}
	return k
}

// unfilled says what is wrong with it: that the provider keeps none of this name, or which of its parameters nothing fills.
func (k *kept) unfilled(sample json.RawMessage) (list []string) {
	if k.described && !k.found {
		return []string{fmt.Sprintf("the provider keeps no template %s", k.id)}
	}
	given, err := render.Fields(sample)
	if err != nil {
		return nil
	}
	for _, name := range k.is.Parameters {
		if given[name] == nil {
			list = append(list, fmt.Sprintf("nothing fills %s of the provider's template %s (%s): campaign change --parameter '%s=${…}', or template set with the same, says which column does", name, k.id, k.is.Title, name))
		}
	}
	return list
}

// mostAsked is of how many members a start looks whether any of them can be sent to.
const mostAsked = 100

// inVain says why a campaign would begin in vain: which parameters of the provider's own template nothing fills for the first member, or that none of
// the first members can be sent to. A template that the provider does not list is the plan's to say: a list may be short of it.
func (d *Desk) inVain(ctx context.Context, c *work.Campaign, a *work.Audience, t *posthouse.Template, ch *state.Channel) ([]string, error) {
	t = filledBy(c, t)
	own := keptAt(ctx, t, ch)
	first, err := d.try(ctx, c, a, t, ch, mostAsked, own.id != "")
	if err != nil || first.members == 0 {
		return nil, err
	}
	var list []string
	if own.found {
		list = own.unfilled(first.leaves)
	}
	if len(list) == 0 && first.bad == first.members {
		list = []string{fmt.Sprintf("none of the first %d can be sent to; %s: %s %s", first.members, first.first, first.why.Path, first.why.Message)}
	}
	return list, nil
}

// mapping is what fills each parameter of the provider's template: those that it lists, and those that are written down besides.
func mapping(t *posthouse.Template, k kept, ch *state.Channel) []wire.CampaignParameter {
	list := []wire.CampaignParameter{}
	takes := func(string) string { return "" }
	if ch != nil && ch.Opened.Takes != nil {
		takes = ch.Opened.Takes
	}
	if t == nil {
		return list
	}
	text := func(name string) string { return t.Parameters[name] }
	if len(t.Parameters) == 0 { // then what has the name of a parameter fills it
		named := content.Prepare(*t).Names()
		text = func(name string) string {
			if slices.Contains(named, name) {
				return "${" + name + "}"
			}
			return ""
		}
	}
	for _, name := range k.is.Parameters {
		list = append(list, wire.CampaignParameter{Name: name, Text: text(name), Takes: takes(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		if !slices.Contains(k.is.Parameters, name) {
			list = append(list, wire.CampaignParameter{Name: name, Text: text(name), Takes: takes(name)})
		}
	}
	return list
}

// Takes is how long a channel needs for so many messages of a template, at least: as long as the slowest of its limits, of the template's, or
// of one of its accounts', has windows to wait for.
func Takes(n int64, ch *state.Channel, template string) time.Duration {
	longest := max(wait(n, ch.Settings.Limits), wait(n, ch.Settings.Tiers.OfTemplate(template)))
	accounts := accountLimits(ch)
	for _, limits := range accounts {
		longest = max(longest, wait((n+int64(len(accounts))-1)/int64(len(accounts)), limits))
	}
	return longest
}

// accountLimits are the windows of each account of a channel, its own or those of all: one where the channel has no accounts of its own.
func accountLimits(ch *state.Channel) [][]posthouse.Limit {
	if len(ch.Opened.Accounts) == 0 {
		return [][]posthouse.Limit{ch.Settings.Tiers.Account}
	}
	list := make([][]posthouse.Limit, len(ch.Opened.Accounts))
	for i, a := range ch.Opened.Accounts {
		list[i] = ch.Settings.LimitsOf(a)
	}
	return list
}

func wait(n int64, limits []posthouse.Limit) (longest time.Duration) {
	for _, l := range limits {
		if l.Max > 0 && n > 0 {
			windows := (n - 1) / int64(l.Max) // the first one begins at once
			longest = max(longest, time.Duration(min(windows, int64(time.Hour*24*36500)/max(int64(l.Per), 1)))*l.Per.Std())
		}
	}
	return longest
}
