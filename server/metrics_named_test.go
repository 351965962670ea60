package server_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
)

var (
	fullName   = regexp.MustCompile(`fqName: "([^"]+)"`)
	withLabels = regexp.MustCompile(`([a-z][a-z0-9_]*_[a-z0-9_]+)\{[a-z_]+[,}=]`) // as Prometheus and our tables write them
	inTable    = regexp.MustCompile("(?m)^\\| `(posthouse_[a-z_]+)(?:\\{|`)")
	inTicks    = regexp.MustCompile("`([a-z_]+)`")
	counted    = regexp.MustCompile(`_(?:total|seconds|depth|rows|size|waiting)$`)
)

// metricsThereAre are the names of all metrics of a server.
func metricsThereAre(t *testing.T) map[string]bool {
	t.Helper()
	reg := prometheus.NewRegistry()
	open(t, dbtest.SQLite(t), func(o *server.Options) {
		o.Registry, o.SMS = reg, server.SMS{Username: "u", Password: "a long password"}
	})
	described := make(chan *prometheus.Desc)
	go func() { reg.Describe(described); close(described) }()
	known := map[string]bool{}
	for desc := range described {
		known[fullName.FindStringSubmatch(desc.String())[1]] = true
	}
	return known
}

// An alert on a metric that is not there never fires, and one without a page leaves whoever it wakes alone.
func TestAlertsNameMetricsThatExistAndHaveAPageInBothLanguages(t *testing.T) {
	t.Parallel()
	known := metricsThereAre(t)
	rules, err := os.ReadFile("../packaging/monitoring/posthouse.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	namesExist(t, known, "the rules", string(rules))
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) == 0 {
		t.Error("the rules have no alert")
	}
	tried, err := os.ReadFile("../packaging/monitoring/posthouse.rules.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		if page := "docs/guide/alerts.md#" + strings.ToLower(alert[1]) + "\n"; !strings.Contains(string(rules), page) {
			t.Errorf("%s does not lead to its page, %s", alert[1], page)
		}
		if !strings.Contains(string(tried), "alertname: "+alert[1]+"\n        exp_alerts:") {
			t.Errorf("promtool never sees %s fire", alert[1])
		}
	}
	for _, page := range []string{"../docs/guide/alerts.md", "../docs/guide/alerts.zh-CN.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, alert := range alerts {
			if !strings.Contains(string(text), "\n## "+alert[1]+"\n") {
				t.Errorf("%s says nothing of %s", page, alert[1])
			}
		}
	}
}

// namesExist fails for what a text calls a metric and is none.
func namesExist(t *testing.T, known map[string]bool, what, text string) {
	t.Helper()
	found := regexp.MustCompile(`posthouse_[a-z_]+`).FindAllString(text, -1)
	if len(found) == 0 {
		t.Errorf("%s name no metric", what)
	}
	for _, name := range found {
		base := name
		for _, ending := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, ending)
		}
		if !known[name] && !known[base] {
			t.Errorf("%s name the metric %s, and there is none", what, name)
		}
	}
}

// A panel of a metric that is not there is empty, and looks like nothing to worry about.
func TestDashboardsNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := metricsThereAre(t)
	files, err := filepath.Glob("../packaging/monitoring/dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("the dashboards are %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			UID    string `json:"uid"`
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if d.UID+".json" != filepath.Base(file) || len(d.Panels) == 0 {
			t.Errorf("%s has the uid %q and %d panels", file, d.UID, len(d.Panels))
		}
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				if !strings.Contains(target.Expr, "process_resident_memory_bytes") {
					namesExist(t, known, file+": "+panel.Title, target.Expr)
				}
			}
		}
	}
}

// What the guides call a metric is one, by its whole name: an alert that was copied from them with half a name never fires.
func TestMetricsThatTheGuidesNameExist(t *testing.T) {
	t.Parallel()
	known := metricsThereAre(t)
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, page := range append(pages, "../README.md", "../README.zh-CN.md", "../docs/glossary.md", "../docs/store.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		is := func(name string) {
			named[name] = true
			base := name
			for _, ending := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, ending)
			}
			if !known[name] && !known[base] {
				t.Errorf("%s names the metric %s, and there is none", page, name)
			}
		}
		for _, pattern := range []*regexp.Regexp{withLabels, inTable} {
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				is(m[1])
			}
		}
		for _, m := range inTicks.FindAllStringSubmatch(string(text), -1) {
			if counted.MatchString(m[1]) && (strings.HasPrefix(m[1], "posthouse_") || known["posthouse_"+m[1]]) {
				is(m[1])
			}
		}
	}
	for _, name := range []string{"posthouse_message_queue_depth", "posthouse_oldest_wait_seconds", "posthouse_outbox_rows", "posthouse_lease_losses_total"} {
		if !named[name] {
			t.Errorf("%s stands in no guide: this test reads them no more", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if strings.HasPrefix(name, "posthouse_") && !named[name] {
			t.Errorf("no guide names the metric %s", name)
		}
	}
}
