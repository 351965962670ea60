package alerts

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
)

// language is the words of a text.
type language struct {
	firing, resolved       string
	since, over            string
	silence, runbook, open string
	dashboard              string
	more, truncated        string
}

var (
	english = language{
		firing: "Firing", resolved: "Resolved", since: "since", over: "resolved at", silence: "Silence", runbook: "Runbook", open: "Source", dashboard: "Dashboard",
		more: "… and %d more", truncated: "The sender left out %d more alerts.",
	}
	chinese = language{
		firing: "告警", resolved: "已恢复", since: "开始于", over: "恢复于", silence: "静默", runbook: "处理手册", open: "来源", dashboard: "面板",
		more: "……另有 %d 条", truncated: "发送方另外省略了 %d 条告警。",
	}
)

// Bounds of a text: how many alerts are told one by one, and how long each description is, in bytes.
const (
	maxTold  = 10
	maxDescr = 500
	maxLabel = 120
	maxShown = 8 // labels of an alert
)

// teller writes the text of some alerts.
type teller struct {
	say   language
	zone  *time.Location
	group *Group
	list  []Alert
}

func (t *teller) counts() (firing, over int) {
	for i := range t.list {
		if t.list[i].resolved() {
			over++
		} else {
			firing++
		}
	}
	return firing, over
}

// title says what happens, to what and how often.
func (t *teller) title() string {
	firing, over := t.counts()
	var parts []string
	if firing > 0 {
		parts = append(parts, counted(t.say.firing, firing))
	}
	if over > 0 {
		parts = append(parts, counted(t.say.resolved, over))
	}
	name := cmpOr(t.group.CommonLabels["alertname"], t.group.GroupLabels["alertname"])
	if len(t.list) == 1 {
		name = cmpOr(t.list[0].name(), name)
	}
	if name == "" {
		name = cmpOr(t.list[0].name(), t.group.Receiver)
	}
	return "[" + strings.Join(parts, ", ") + "] " + inbound.Cut(name, 150)
}

func counted(word string, n int) string {
	if n == 1 {
		return word
	}
	return fmt.Sprintf("%s %d", word, n)
}

// style is how a text is marked up.
type style interface {
	strong(text string) string
	link(title, address string) string
	lines(lines []string) string
}

type plain struct{}

func (plain) strong(text string) string         { return text }
func (plain) link(title, address string) string { return title + ": " + address }
func (plain) lines(lines []string) string       { return strings.Join(lines, "\n") }

// markdown is what DingTalk, WeCom, Feishu, Slack's and others' dialects have in common: bold, links, and an empty line for a new one.
type markdown struct{}

func (markdown) strong(text string) string         { return "**" + strings.ReplaceAll(text, "*", "＊") + "**" }
func (markdown) link(title, address string) string { return "[" + title + "](" + address + ")" }
func (markdown) lines(lines []string) string       { return strings.Join(lines, "\n\n") }

// text tells the alerts one by one, as many as are read.
func (t *teller) text(s style) string {
	told := t.list[:min(len(t.list), maxTold)]
	var blocks []string
	for i := range told {
		blocks = append(blocks, s.lines(t.alert(s, &told[i])))
	}
	return strings.Join(blocks, "\n\n")
}

// tail counts the alerts that the text does not tell. It stands there however long the text is.
func (t *teller) tail() (text string) {
	if n := len(t.list) - maxTold; n > 0 {
		text += "\n\n" + fmt.Sprintf(t.say.more, n)
	}
	if t.group.Truncated > 0 {
		text += "\n\n" + fmt.Sprintf(t.say.truncated, t.group.Truncated)
	}
	return text
}

func (t *teller) alert(s style, a *Alert) []string {
	word := t.say.firing
	if a.resolved() {
		word = t.say.resolved
	}
	summary := cmpOr(a.Annotations["summary"], a.Annotations["title"], a.Annotations["message"], a.name())
	lines := []string{s.strong(word + " · " + inbound.Cut(inbound.OneLine(summary), maxDescr))}
	if d := cmpOr(a.Annotations["description"], a.Annotations["message"]); d != "" && d != summary {
		lines = append(lines, inbound.Cut(strings.TrimSpace(inbound.Clean(d)), maxDescr))
	}
	if labels := labelsOf(a); labels != "" {
		lines = append(lines, labels)
	}
	if a.ValueString != "" {
		lines = append(lines, inbound.Cut(inbound.OneLine(a.ValueString), maxDescr))
	}
	if a.resolved() && a.EndsAt.After(a.StartsAt) {
		lines = append(lines, t.say.over+" "+t.at(a.EndsAt))
	} else if !a.StartsAt.IsZero() {
		lines = append(lines, t.say.since+" "+t.at(a.StartsAt))
	}
	return append(lines, t.links(s, a)...)
}

func (t *teller) at(when time.Time) string { return when.In(t.zone).Format("2006-01-02 15:04:05 MST") }

// labelsOf are the labels of an alert but its name, those that say how bad it is first.
func labelsOf(a *Alert) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(a.Labels)), func(name string) bool { return name == "alertname" || strings.HasPrefix(name, "__") })
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	var parts []string
	for _, name := range names[:min(len(names), maxShown)] {
		parts = append(parts, inbound.Cut(inbound.OneLine(name), maxLabel)+"="+inbound.Cut(inbound.OneLine(a.Labels[name]), maxLabel))
	}
	if n := len(names) - maxShown; n > 0 {
		parts = append(parts, fmt.Sprintf("+%d", n))
	}
	return strings.Join(parts, " · ")
}

func rank(name string) int {
	if slices.Contains(severityNames, name) {
		return 0
	}
	return 1
}

// links lead to where something can be done about an alert.
func (t *teller) links(s style, a *Alert) []string {
	var parts []string
	add := func(title, address string) {
		if u, err := url.Parse(address); err == nil && (u.Scheme == "http" || u.Scheme == "https") && len(address) < 1000 && !strings.ContainsAny(address, " \n)") {
			parts = append(parts, s.link(title, address))
		}
	}
	add(t.say.runbook, a.runbook())
	add(t.say.dashboard, cmpOr(a.PanelURL, a.DashboardURL))
	add(t.say.open, a.GeneratorURL)
	if !a.resolved() {
		add(t.say.silence, cmpOr(a.SilenceURL, t.silence(a)))
	}
	if len(parts) == 0 {
		return nil
	}
	if _, ok := s.(markdown); ok {
		return []string{strings.Join(parts, " · ")}
	}
	return parts
}

// silence is the page of Alertmanager on which just this alert is silenced.
func (t *teller) silence(a *Alert) string {
	if t.group.ExternalURL == "" {
		return ""
	}
	var matchers []string
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		matchers = append(matchers, fmt.Sprintf("%s=%q", name, a.Labels[name]))
	}
	return strings.TrimRight(t.group.ExternalURL, "/") + "/#/silences/new?filter=" + strings.ReplaceAll(url.QueryEscape("{"+strings.Join(matchers, ",")+"}"), "+", "%20")
}
