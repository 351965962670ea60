package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/inbound/alerts"
)

func alert(name, status string) alerts.Alert {
	began := time.Date(2026, 11, 27, 5, 0, 0, 0, time.UTC)
	return alerts.Alert{
		Status: status, Labels: map[string]string{"alertname": name, "severity": "critical", "instance": "db1"}, StartsAt: began, EndsAt: began.Add(time.Hour), Fingerprint: name,
		Annotations: map[string]string{"summary": "disk of *db1*", "runbook_url": "https://runbooks.example.com/disk"}, GeneratorURL: "javascript:alert(1)",
	}
}

func told(f posthouse.FrontSettings, g alerts.Group) []inbound.Message {
	return alerts.Messages(&inbound.Request{Zone: time.UTC, Front: posthouse.Front{FrontSettings: f}}, "key", g)
}

// The front's own text is there in both languages, as a text and in the Markdown that all channels read.
func TestTheTextOfAnAlert(t *testing.T) {
	t.Parallel()
	g := alerts.Group{ExternalURL: "https://am.example.com", Alerts: []alerts.Alert{alert("Disk", "resolved"), alert("Load", "firing")}}
	silence := "https://am.example.com/#/silences/new?filter=%7Balertname%3D%22Load%22%2Cinstance%3D%22db1%22%2Cseverity%3D%22critical%22%7D"
	for language, want := range map[string][3]string{
		"": {
			"[Firing, Resolved] Load",
			"Firing · disk of *db1*\nseverity=critical · instance=db1\nsince 2026-11-27 05:00:00 UTC\nRunbook: https://runbooks.example.com/disk\nSilence: " + silence + "\n\n" +
				"Resolved · disk of *db1*\nseverity=critical · instance=db1\nresolved at 2026-11-27 06:00:00 UTC\nRunbook: https://runbooks.example.com/disk",
			"**Firing · disk of ＊db1＊**\n\nseverity=critical · instance=db1\n\nsince 2026-11-27 05:00:00 UTC\n\n[Runbook](https://runbooks.example.com/disk) · [Silence](" + silence + ")\n\n" +
				"**Resolved · disk of ＊db1＊**\n\nseverity=critical · instance=db1\n\nresolved at 2026-11-27 06:00:00 UTC\n\n[Runbook](https://runbooks.example.com/disk)",
		},
		"zh": {
			"[告警, 已恢复] Load",
			"告警 · disk of *db1*\nseverity=critical · instance=db1\n开始于 2026-11-27 05:00:00 UTC\n处理手册: https://runbooks.example.com/disk\n静默: " + silence + "\n\n" +
				"已恢复 · disk of *db1*\nseverity=critical · instance=db1\n恢复于 2026-11-27 06:00:00 UTC\n处理手册: https://runbooks.example.com/disk",
			"**告警 · disk of ＊db1＊**\n\nseverity=critical · instance=db1\n\n开始于 2026-11-27 05:00:00 UTC\n\n[处理手册](https://runbooks.example.com/disk) · [静默](" + silence + ")\n\n" +
				"**已恢复 · disk of ＊db1＊**\n\nseverity=critical · instance=db1\n\n恢复于 2026-11-27 06:00:00 UTC\n\n[处理手册](https://runbooks.example.com/disk)",
		},
	} {
		m := told(posthouse.FrontSettings{Language: language}, alerts.Group{ExternalURL: g.ExternalURL, Alerts: append([]alerts.Alert{}, g.Alerts...)})[0]
		for i, got := range []string{m.Title, m.Text, m.Markdown} {
			if got != want[i] {
				t.Errorf("%q, %d: got\n%s\nwant\n%s", language, i, got, want[i])
			}
		}
		if m.Tail != "" {
			t.Errorf("%q: nothing is left out, and it ends with %q", language, m.Tail)
		}
	}
}

// What is not told one by one is counted at the end, which is never cut.
func TestAlertsThatAreNotToldAreCounted(t *testing.T) {
	t.Parallel()
	g := alerts.Group{Truncated: 7}
	for i := range 13 {
		g.Alerts = append(g.Alerts, alert(fmt.Sprint("Disk", i), "firing"))
	}
	for language, want := range map[string]string{
		"en": "\n\n… and 3 more\n\nThe sender left out 7 more alerts.", "zh": "\n\n……另有 3 条\n\n发送方另外省略了 7 条告警。",
	} {
		if m := told(posthouse.FrontSettings{Language: language}, g)[0]; m.Tail != want || strings.Count(m.Text, "db1*") != 10 {
			t.Errorf("%s: it ends with %q, and tells %d", language, m.Tail, strings.Count(m.Text, "db1*"))
		}
	}
}
