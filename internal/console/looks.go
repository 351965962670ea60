package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/sms"
	"github.com/posthouse/posthouse/wire"
)

// look is what one member gets, in the form in which the channel shows it.
type look struct {
	Address string
	Form    string // sms, mail, chat, card of the provider's template, or plain
	Sign    string
	Title   []bit
	Body    []bit
	Size    sms.Size // of a text message with its sign
	Of      string   // how the provider calls its template
	Rows    []lookRow
	Flaws   []wire.Flaw // that no row shows
}

// bit is a piece of a text: one that is open is a placeholder that nothing fills.
type bit struct {
	Text string
	Open bool
}

// lookRow is a parameter of the provider's template with what fills it.
type lookRow struct {
	Name  string
	Value []bit
	Takes string
	Wrong string // why the provider refuses it
	Empty bool   // nothing fills it
}

var placeholders = regexp.MustCompile(`\$\{[^{}]*\}`)

// bits takes a text apart at the placeholders that are left in it.
func bits(text string) (list []bit) {
	from := 0
	for _, at := range placeholders.FindAllStringIndex(text, -1) {
		if at[0] > from {
			list = append(list, bit{Text: text[from:at[0]]})
		}
		list = append(list, bit{Text: text[at[0]:at[1]], Open: true})
		from = at[1]
	}
	if from < len(text) {
		list = append(list, bit{Text: text[from:]})
	}
	return list
}

// formOf is the form in which a driver's messages are shown.
func formOf(driver string) string {
	for _, one := range [][2]string{{"wechat", "card"}, {"wecom", "chat"}, {"dingtalk", "chat"}, {"feishu", "chat"}, {"sms", "sms"}, {"email", "mail"}} {
		if strings.HasPrefix(driver, one[0]) {
			return one[1]
		}
	}
	return "plain"
}

// looks are the samples of a campaign as its channel shows them.
func looks(ch posthouse.Channel, samples []wire.CampaignSample, mapping []wire.CampaignParameter, of string) []look {
	sign, _ := ch.Config["sign"].(string)
	list := make([]look, 0, len(samples))
	for _, s := range samples {
		one := look{Address: s.Address, Form: formOf(ch.Driver), Title: bits(s.Content.Title), Body: bits(s.Content.Text), Of: of}
		if one.Form == "sms" {
			text := s.Content.Text
			if sign != "" {
				one.Sign, text = sign, "【"+sign+"】"+text
			}
			one.Size = sms.Parts(text)
		}
		wrong := map[string]string{}
		for _, f := range s.Problems {
			wrong[f.Path] = f.Message
		}
		one.Rows = lookRows(s.Payload, mapping, wrong)
		if one.Form == "card" && len(one.Rows) > 0 { // the provider's template is all that is read
			one.Title, one.Body = nil, nil
		}
		for _, f := range s.Problems {
			if _, left := wrong[f.Path]; left {
				one.Flaws = append(one.Flaws, f)
			}
		}
		list = append(list, one)
	}
	return list
}

// lookRows are what leaves for the provider's template, and takes out of wrong what a row says.
func lookRows(payload json.RawMessage, mapping []wire.CampaignParameter, wrong map[string]string) (rows []lookRow) {
	var given map[string]any
	_ = json.Unmarshal(payload, &given) // none, for what has no template of the provider's
	add := func(name, takes string) {
		value, is := given[name]
		text, plain := value.(string)
		if !plain && is {
			told, _ := json.Marshal(value)
			text = string(told)
		}
		rows = append(rows, lookRow{Name: name, Value: bits(text), Takes: takes, Wrong: wrong["payload."+name], Empty: text == ""})
		delete(wrong, "payload."+name)
		delete(given, name)
	}
	for _, p := range mapping {
		add(p.Name, p.Takes)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		add(name, "")
	}
	return rows
}

// step is one of the way from a text and a list of people to a campaign that runs.
type step struct {
	Word    string
	Link    string // empty for one that cannot be gone to yet
	Next    string // what the form of the page says instead, which keeps what was typed
	Current bool
}

// Steps are those of a campaign, empty for one that is not made; form says that the page has the form of the text.
func (f frame) Steps(current int, name string, state posthouse.CampaignState, form bool) []step {
	list := []step{{Word: "step_content"}, {Word: "step_people"}, {Word: "step_plan"}, {Word: "step_live"}}
	before := slices.Contains([]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting, posthouse.CampaignReady, posthouse.CampaignScheduled}, state)
	if name != "" && before {
		if f.Sends("campaigns.change") {
			list[0].Link = f.At("campaigns", name, "content")
		}
		list[1].Link, list[1].Next = f.At("campaigns", name), "people"
		list[2].Link, list[2].Next = f.At("campaigns", name, "plan"), "plan"
	}
	for i := range list {
		list[i].Current = i == current-1
		if !form {
			list[i].Next = ""
		}
	}
	return list
}

// bar is one of the chart of how many leave when.
type bar struct {
	X, Y, H int
	wire.CampaignForecast
}

// Bars are the chart's, in a field of ten for each and forty high.
func (f *foresight) Bars() (list []bar) {
	const high = 40
	most := max(f.Highest(), 1)
	for i, one := range f.Plan.Forecast {
		h := int(one.Members * high / most)
		if one.Members > 0 {
			h = max(h, 1)
		}
		list = append(list, bar{X: 10 * i, Y: high - h, H: h, CampaignForecast: one})
	}
	return list
}

// Where says what a problem of the plan is about, as the forms call it.
func (*foresight) Where(f frame, path string) where {
	if label := map[string]string{"people": "camp_list", "channel": "channel", "deadline": "deadline", "template": "template", "own_text": "camp_own"}[path]; label != "" {
		return where{path, f.T(label), f.colon()}
	}
	return f.Where(path)
}

// Highest is how many leave in the step of the chart with most.
func (f *foresight) Highest() (most int64) {
	for _, one := range f.Plan.Forecast {
		most = max(most, one.Members)
	}
	return most
}

// First is when the first step of the chart begins, and Last when its last one ends.
func (f *foresight) First() time.Time { return f.Plan.Forecast[0].At }

// Last is First's.
func (f *foresight) Last() time.Time {
	return f.Plan.Forecast[len(f.Plan.Forecast)-1].At.Add(f.Plan.Step.Std())
}

// Width is that of the chart.
func (f *foresight) Width() int { return 10 * len(f.Plan.Forecast) }

// Looks are the plan's samples as the channel shows them.
func (f *foresight) Looks() []look {
	return looks(f.channel, f.Plan.Samples, f.Plan.Mapping, f.Plan.ProviderTemplate)
}

// Looks are what the first members would get as the channel shows it.
func (w *wording) Looks() []look {
	return looks(w.channel, w.Shows.Samples, w.Shows.Mapping, cmp.Or(w.Shows.Title, w.Shows.ProviderTemplate))
}
