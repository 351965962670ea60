// Package alerts is what the fronts of Alertmanager and Grafana share: alerts in groups, and the text that they become in both
// languages. It is no front itself.
package alerts

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/work"
)

// Alert is one alert. What Grafana alone says is empty for others.
type Alert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`

	ValueString  string `json:"valueString"`
	SilenceURL   string `json:"silenceURL"`
	DashboardURL string `json:"dashboardURL"`
	PanelURL     string `json:"panelURL"`
}

// Group is the alerts of one notification.
type Group struct {
	Receiver          string            `json:"receiver"`
	Status            string            `json:"status"`
	Alerts            []Alert           `json:"alerts"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	// Truncated is how many alerts the sender left out.
	Truncated int `json:"truncatedAlerts"`
}

// The words of a status.
const (
	firing   = "firing"
	resolved = "resolved"
)

func (a *Alert) resolved() bool { return a.Status == resolved }

// over reports whether a group, or some of its alerts, are over: all of them are resolved. Of what the sender left out its status speaks: else a group
// that is always cut short would never be over.
func (g *Group) over(list []Alert) bool {
	return !slices.ContainsFunc(list, func(a Alert) bool { return !a.resolved() }) && (g.Truncated == 0 || g.Status == resolved)
}

func (a *Alert) name() string { return a.Labels["alertname"] }

// severityNames are the labels that say how bad an alert is, the first that is there.
var severityNames = []string{"severity", "priority", "level"}

func (a *Alert) severity() string {
	for _, name := range severityNames {
		if a.Labels[name] != "" {
			return a.Labels[name]
		}
	}
	return ""
}

// Priorities are those of the usual words for how bad an alert is.
func Priorities() map[string]posthouse.Priority {
	return map[string]posthouse.Priority{
		"critical": posthouse.High, "page": posthouse.High, "emergency": posthouse.High, "disaster": posthouse.High, "fatal": posthouse.High,
		"high": posthouse.High, "p0": posthouse.High, "p1": posthouse.High, "严重": posthouse.High, "紧急": posthouse.High, "致命": posthouse.High,
		"error": posthouse.High, "info": posthouse.Low, "information": posthouse.Low, "notice": posthouse.Low, "low": posthouse.Low, "none": posthouse.Low, "p4": posthouse.Low, "提示": posthouse.Low,
	}
}

// Each values of a front.
const (
	EachGroup = "group"
	EachAlert = "alert"
)

// Messages makes messages of a group: one, or one for each alert.
func Messages(r *inbound.Request, groupKey string, g Group) []inbound.Message {
	if len(g.Alerts) == 0 {
		return nil
	}
	if g.Truncated > 0 {
		note := fmt.Sprintf("the sender left %d alerts of the group out", g.Truncated)
		if g.Status == resolved && g.over(g.Alerts) {
			note += ": its status is resolved, so they are taken for resolved too"
		}
		r.Note(note)
	}
	slices.SortStableFunc(g.Alerts, func(a, b Alert) int { // what still goes on stands first
		switch {
		case a.resolved() == b.resolved():
			return 0
		case a.resolved():
			return 1
		}
		return -1
	})
	if r.Front.Each != EachAlert {
		return []inbound.Message{message(r, groupKey, g, g.Alerts, g.CommonLabels)}
	}
	var list []inbound.Message
	alone := g.Alerts
	if len(alone) > inbound.MaxMessages-1 { // the others are told together: none is lost
		r.Note(fmt.Sprintf("%d alerts at once: the first %d have a message of their own", len(alone), inbound.MaxMessages-1))
		alone = alone[:inbound.MaxMessages-1]
	}
	for i := range alone {
		list = append(list, message(r, groupKey, g, alone[i:i+1], alone[i].Labels))
	}
	if rest := g.Alerts[len(alone):]; len(rest) > 0 {
		list = append(list, message(r, groupKey, g, rest, g.CommonLabels))
	}
	return list
}

// message makes one message of some alerts of a group.
func message(r *inbound.Request, groupKey string, g Group, list []Alert, labels map[string]string) inbound.Message {
	t := teller{say: english, zone: r.Zone, group: &g, list: list}
	if r.Chinese() {
		t.say = chinese
	}
	severity, priority := worst(r, list)
	over := g.over(list) || r.Front.Each == EachAlert && len(list) == 1 && list[0].resolved()
	m := inbound.Message{
		Title: t.title(), Text: t.text(plain{}), Markdown: t.text(markdown{}), Tail: t.tail(), Severity: severity, Priority: priority,
		Labels: labels, Key: key(groupKey, list), Ref: ref(groupKey), Payload: payload(&g, list), Over: over,
	}
	if !over {
		m.Things, m.Partly = things(&g, list), slices.ContainsFunc(list, func(a Alert) bool { return a.resolved() })
	}
	if over && r.Front.Each == EachAlert {
		fired := slices.Clone(list)
		for i := range fired {
			fired[i].Status = firing
		}
		m.Ends = key(groupKey, fired)
	}
	if n := len(list) - maxTold; n > 0 {
		r.Note(fmt.Sprintf("%d alerts of %d are counted in the text and not told one by one", n, len(list)))
	}
	return m
}

// things are the alerts of a list that go on, each with its begin. Of more than are kept nothing is known.
func things(g *Group, list []Alert) *work.Things {
	t := &work.Things{}
	if len(list) == len(g.Alerts) {
		t.Left = g.Truncated
	}
	for i := range list {
		if a := &list[i]; !a.resolved() {
			sum := sha256.Sum256([]byte(a.mark()))
			t.Marks = append(t.Marks, base64.RawURLEncoding.EncodeToString(sum[:8]))
		}
	}
	if len(t.Marks) > work.MostMarks {
		return nil
	}
	return t
}

// mark tells an alert from others, also from itself when it fired before.
func (a *Alert) mark() string {
	mark := a.Fingerprint
	if mark == "" {
		mark = fmt.Sprint(a.Labels) // in the order of their names
	}
	return mark + " " + a.StartsAt.UTC().Format(time.RFC3339Nano)
}

// key is the same for what one sender says twice and for what both of a pair say: the group, and of each alert when it began and
// whether it goes on. In which order they stand is no part of it.
func key(groupKey string, list []Alert) string {
	marks := make([]string, len(list))
	for i := range list {
		a := &list[i]
		mark := a.Fingerprint
		if mark == "" {
			mark = fmt.Sprint(a.Labels) // in the order of their names
		}
		marks[i] = mark + " " + a.Status + " " + a.StartsAt.UTC().Format(time.RFC3339Nano)
	}
	slices.Sort(marks)
	return groupKey + "\n" + strings.Join(marks, "\n")
}

// ref is the same for all that is told of a group.
func ref(groupKey string) string {
	sum := sha256.Sum256([]byte(groupKey))
	return "group-" + hex.EncodeToString(sum[:8])
}

// worst is the severity that counts for several alerts: that of the highest priority among those that go on. What is over is not
// urgent, however bad it was.
func worst(r *inbound.Request, list []Alert) (severity string, p posthouse.Priority) {
	order := posthouse.Priorities()
	for i := range list {
		a := &list[i]
		own := inbound.PriorityOf(Priorities(), &r.Front, a.severity())
		if a.resolved() && own == posthouse.High {
			own = posthouse.Normal
		}
		if p == "" || slices.Index(order, own) < slices.Index(order, p) {
			severity, p = a.severity(), own
		}
	}
	return severity, p
}

// payload is what templates are filled with: what the alerts have in common, the first alert, and how many there are.
func payload(g *Group, list []Alert) map[string]any {
	first, alight := &list[0], 0
	for i := range list {
		if !list[i].resolved() {
			alight++
		}
	}
	labels, annotations := g.CommonLabels, g.CommonAnnotations
	if len(list) == 1 {
		labels, annotations = first.Labels, first.Annotations
	}
	status := firing
	if alight == 0 {
		status = resolved
	}
	return map[string]any{
		"status": status, "firing": alight, "resolved": len(list) - alight, "truncated": g.Truncated, "receiver": g.Receiver,
		"labels": labels, "annotations": annotations, "group_labels": g.GroupLabels,
		"alertname": cmpOr(labels["alertname"], first.name()), "starts_at": first.StartsAt.UTC().Format(time.RFC3339),
		"url": first.GeneratorURL, "external_url": g.ExternalURL, "runbook_url": first.runbook(),
	}
}

func (a *Alert) runbook() string { return a.Annotations["runbook_url"] }

func cmpOr(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
