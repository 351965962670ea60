package anyjson

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
)

// reading reads a body at a front with expressions.
func reading(t *testing.T, body string, expressions map[string]string) ([]inbound.Message, error) {
	t.Helper()
	r := &inbound.Request{Request: httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), Body: []byte(body)}
	r.Front.Expressions = expressions
	return read(r)
}

func TestEachKnownSendersExpressionsCompile(t *testing.T) {
	t.Parallel()
	for _, s := range senders() {
		if _, err := compile(s.recognised); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if problems := check(posthouse.FrontSettings{Expressions: s.expressions}); len(problems) > 0 {
			t.Errorf("%s: %+v", s.name, problems)
		}
	}
}

// The bodies are recorded, as the makers of the senders describe them, and shortened: neither Icinga's and Zabbix's scripts nor the others are run here.
func TestKnownSendersAreReadByThemselves(t *testing.T) {
	t.Parallel()
	type made struct{ Title, Text, Severity, Key string }
	for name, c := range map[string]struct {
		body string
		want *made // nil for no message
	}{
		"GitLab, a failed pipeline": {
			`{"object_kind":"pipeline","object_attributes":{"id":31,"ref":"main","status":"failed","url":"https://gitlab.example.com/team/app/-/pipelines/31"},
			  "project":{"name":"app","path_with_namespace":"team/app","web_url":"https://gitlab.example.com/team/app"},"commit":{"title":"Fix it","author":{"name":"李娜"}}}`,
			&made{"team/app pipeline #31 failed", "main: Fix it (李娜)\nhttps://gitlab.example.com/team/app/-/pipelines/31", "failed", "pipeline/31/failed"},
		},
		"GitLab, a pipeline that runs": {
			`{"object_kind":"pipeline","object_attributes":{"id":31,"ref":"main","status":"running"},"project":{"path_with_namespace":"team/app","web_url":"https://gitlab.example.com/team/app"}}`, nil,
		},
		"GitLab, a push": {
			`{"object_kind":"push","ref":"refs/heads/main","checkout_sha":"da15","after":"da15","user_name":"李娜","total_commits_count":4,"project":{"path_with_namespace":"team/app","web_url":"https://gitlab.example.com/team/app"}}`,
			&made{"team/app main", "李娜: 4 commits\nhttps://gitlab.example.com/team/app", "info", "push/da15"},
		},
		"GitLab, a merge request": {
			`{"object_kind":"merge_request","user":{"name":"李娜"},"project":{"path_with_namespace":"team/app"},"object_attributes":{"title":"Add it","action":"open","url":"https://gitlab.example.com/team/app/-/merge_requests/1"}}`,
			&made{"team/app: Add it", "李娜 open\nhttps://gitlab.example.com/team/app/-/merge_requests/1", "info", ""},
		},
		"Jenkins, a build that ended": {
			`{"name":"app","url":"job/app/","build":{"full_url":"https://ci.example.com/job/app/18/","number":18,"phase":"FINALIZED","status":"FAILURE","url":"job/app/18/"}}`,
			&made{"app #18 FAILURE", "https://ci.example.com/job/app/18/", "failure", "app/18/FAILURE"},
		},
		"Jenkins, a build that begins": {`{"name":"app","url":"job/app/","build":{"number":18,"phase":"STARTED"}}`, nil},
		"Icinga": {
			`{"notification_type":"PROBLEM","host_name":"db-1","host_display_name":"db-1","service_name":"disk","service_display_name":"Disk /var","service_state":"CRITICAL","service_output":"91 % full"}`,
			&made{"PROBLEM db-1 Disk /var CRITICAL", "91 % full", "critical", ""},
		},
		"Zabbix, a problem": {
			`{"event_id":"1234","event_value":"1","event_severity":"High","trigger_name":"Disk is full","host_name":"db-1"}`,
			&made{"Disk is full (db-1)", "db-1: Disk is full", "high", "1234/1"},
		},
		"Zabbix, its end": {
			`{"event_id":"1234","event_value":"0","event_severity":"High","subject":"Resolved: Disk is full","message":"after 5m","host_name":"db-1"}`,
			&made{"Resolved: Disk is full", "after 5m", "ok", "1234/0"},
		},
		"Apprise": {
			`{"version":"1.0","title":"Disk","message":"91 % full","attachments":[],"type":"failure"}`,
			&made{"Disk", "91 % full", "failure", ""},
		},
		"by hand": {`{"title":"Disk","text":"91 % full","level":"critical"}`, &made{"Disk", "91 % full", "critical", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := reading(t, c.body, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got *made
			if len(list) > 0 {
				got = &made{list[0].Title, list[0].Text, list[0].Severity, list[0].Key}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A front's own expressions go before those of a known sender, and one that fails leaves the others.
func TestAFrontsOwnExpressionsGoBefore(t *testing.T) {
	t.Parallel()
	list, err := reading(t, `{"name":"app","build":{"full_url":"https://ci.example.com/18","number":18,"phase":"STARTED"}}`,
		map[string]string{when: `build.phase == "STARTED"`, title: `"begins: " + name`, "label.no": `build.number`, key: `no.such.member`})
	if err != nil || len(list) != 1 || list[0].Title != "begins: app" || list[0].Text != "https://ci.example.com/18" || list[0].Labels["no"] != "18" || list[0].Key != "" {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"a list": `[1]`, "no JSON": `title=x`, "nothing said": `{"a":{"b":1}}`, "empty": ``, "null": `null`} {
		if list, err := reading(t, body, nil); err == nil {
			t.Errorf("%s: got %+v", name, list)
		}
	}
	if _, err := read(&inbound.Request{Request: httptest.NewRequest(http.MethodGet, "/", nil)}); err == nil {
		t.Error("a GET is read")
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]string{
		"a loop":           `filter(alerts, true)`,
		"a long one":       `"` + strings.Repeat("x", maxExpression) + `"`,
		"too many joins":   strings.Repeat(`a + `, maxJoins+1) + `a`,
		"a power":          `2 ** 10000`,
		"a pattern":        `title matches "(a+)+$"`,
		"a call of others": `toJSON(body)`,
		"no expression":    `title +`,
	} {
		if problems := check(posthouse.FrontSettings{Expressions: map[string]string{text: of}}); len(problems) != 1 || problems[0].Path != "expressions.text" {
			t.Errorf("%s: %+v", name, problems)
		}
	}
	if problems := check(posthouse.FrontSettings{Expressions: map[string]string{"body": `title`, "label.": `title`}}); len(problems) != 2 {
		t.Errorf("names that make nothing: %+v", problems)
	}
}
