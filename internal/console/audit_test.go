package console

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// unsaid are what is asked for in the course of sending, which the audit log does not keep.
var unsaid = []string{
	"agents.claims", "agents.give-back", "agents.received", "agents.renew", "agents.report", "callbacks.{address}", "campaigns.preview", "campaigns.samples",
	"notices.create", "routes.preview", "templates.preview", "workflow.events",
}

// What was done reads as somebody would say it, with the thing where the verb has room for it.
func TestWhatWasDoneIsSaidInWords(t *testing.T) {
	t.Parallel()
	for action, want := range map[string][2]string{
		"channels.put":      {"Stored channel", "保存渠道"},
		"messages.recall":   {"Recalled message", "撤回消息"},
		"people.sign-in":    {"Signed in person", "人员登录"},
		"people.reset-totp": {"Turned one-time codes off for person", "重置人员的动态验证码"},
		"campaigns.members": {"Put people into campaign", "为群发任务导入成员"},
		"never.done":        {"never.done", "never.done"},
	} {
		for i, zh := range []bool{false, true} {
			if got := (frame{v: &visit{zh: zh}}).ActionWord(action); got != want[i] {
				t.Errorf("%s: got %q, want %q", action, got, want[i])
			}
		}
	}
}

// What changed is said in the words of the forms: members, the options of fields, windows, lengths and times.
func TestChangesAreSaidInTheWordsOfForms(t *testing.T) {
	t.Parallel()
	drivers := []wire.Driver{{Name: "other", Fields: []wire.Field{{Name: "mode", Label: "Other", LabelZH: "别的"}}}, {Name: "robot", Fields: []wire.Field{
		{Name: "mode", Label: "Mode", LabelZH: "方式", Kind: "choice", Choices: []wire.Choice{{Value: "a", Label: "Aloud", LabelZH: "大声"}, {Value: "b", Label: "Softly", LabelZH: "小声"}}}, {Name: "headers", Label: "Headers", LabelZH: "请求头", Kind: "secrets"},
	}}}
	entry := wire.AuditEntry{Key: "k1", KeyName: "given at start", Detail: []byte(`{
		"before":{"driver":"robot","config":{"mode":"a"},"limits":[{"max":20,"per":"1m"}],"timeout":"10s","on_unknown":"retry","paused":false},
		"after":{"driver":"robot","config":{"mode":"b","headers":{"X-Key":"********"}},"limits":[{"max":9000,"per":"1m"}],"timeout":"1m30s","on_unknown":"hold","paused":true,"days":{"1":["li.na","wang"],"2099-01-01":["li.na"]},"tries":1500}}`)}
	for i, want := range [][]string{
		{"Headers · X-Key: →********", "Mode: Aloud→Softly", "days · Monday: →li.na, wang", "days · 2099-01-01: →li.na", "limits: 20 a minute→9,000 a minute", "if unknown: try again→hold for a person", "paused: no→yes", "time-out: 10s→1m30s", "tries: →1,500"},
		{"请求头 · X-Key: →********", "方式: 大声→小声", "值班安排 · 周一: →li.na, wang", "值班安排 · 2099-01-01: →li.na", "限流: 20 / 分钟→9,000 / 分钟", "结果未知时: 重试→等人处理", "已暂停: 否→是", "超时: 10 秒→1 分钟 30 秒", "最多失败次数: →1,500"},
	} {
		line := (&auditTeller{frame: frame{v: &visit{zh: i == 1}}, drivers: drivers}).line(entry)
		var got []string
		for _, c := range line.Changes {
			got = append(got, c.Word+": "+c.From+"→"+c.To)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want := []string{"given at start (k1)", "启动时提供 (k1)"}[i]; line.Who != want {
			t.Errorf("it was %q, want %q", line.Who, want)
		}
	}
}

// What somebody wrote stands as it was written, whatever it looks like.
func TestTextsOfTheAuditLogStandAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"+8613800138010", "013800138009", "007", "true", "1h", "1e3"} {
		detail, err := json.Marshal(map[string]any{"after": map[string]any{"addresses": map[string]any{"sms": text}, "text": text, "title": text}})
		if err != nil {
			t.Fatal(err)
		}
		line := (&auditTeller{frame: frame{v: &visit{zh: true}}}).line(wire.AuditEntry{Detail: detail})
		for _, c := range line.Changes {
			if c.To != text {
				t.Errorf("%s %q is shown as %q", c.Path, text, c.To)
			}
		}
		if len(line.Changes) != 3 {
			t.Errorf("%d changes of %s", len(line.Changes), detail)
		}
	}
}

// Each member of what the audit log keeps before and after has words.
func TestEachMemberOfTheAuditLogHasWords(t *testing.T) {
	t.Parallel()
	for _, of := range []any{
		posthouse.Channel{}, posthouse.Account{}, posthouse.Template{}, posthouse.Tenant{}, posthouse.Roster{}, posthouse.User{}, posthouse.Route{}, posthouse.Preferences{}, posthouse.Front{}, posthouse.Digest{},
		wire.CampaignDraft{}, wire.SuppressionDraft{}, wire.Key{}, posthouse.Key{}, posthouse.Agent{}, posthouse.Person{}, wire.Subscription{}, posthouse.Reminder{},
	} {
		for path, kind := range membersOf(reflect.TypeOf(of)) {
			if kind == reflect.TypeFor[posthouse.Duration]() && !slices.Contains(lengths, path) {
				t.Errorf("%s of %T is a length of time: name it in lengths", path, of)
			}
			if slices.Contains(unchanging, path) {
				continue
			}
			if word := (frame{v: &visit{zh: true}}).Member(path); strings.IndexFunc(word, func(r rune) bool { return unicode.Is(unicode.Han, r) }) < 0 {
				t.Errorf("%s of %T is %q in Chinese: give it words in words/audit.go", path, of, word)
			}
		}
	}
}

// membersOf are the members of a struct as JSON names them.
func membersOf(of reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				for inner, kind := range membersOf(f.Type) {
					if !yield(inner, kind) {
						return
					}
				}
			} else if f.IsExported() && name != "-" && name != "" && !yield(name, f.Type) {
				return
			}
		}
	}
}

// Each change that the API writes down has words.
func TestEachActionOfTheAuditLogHasWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	verbs := map[string]string{"put": "put", "patch": "change", "delete": "delete"}
	seen := 0
	for path, methods := range doc.Paths {
		for method, raw := range methods {
			var op struct{ Tags []string }
			if json.Unmarshal(raw, &op) != nil || len(op.Tags) == 0 || method == "get" || !strings.HasPrefix(path, "/v1/") {
				continue
			}
			last := path[strings.LastIndexByte(path, '/')+1:]
			if verb := verbs[method]; verb != "" {
				last = verb
			}
			if last == op.Tags[0] {
				last = "create"
			}
			action := op.Tags[0] + "." + last
			if slices.Contains(unsaid, action) {
				continue
			}
			seen++
			if word := (frame{v: &visit{zh: true}}).ActionWord(action); word == action {
				t.Errorf("%s has no words: give it some in words/audit.go", action)
			}
		}
	}
	if seen < 50 {
		t.Errorf("the document has %d changes", seen)
	}
	files, err := filepath.Glob("../people/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var noted []string // what people do for themselves
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of the tree
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\.note\(.*"(people\.[a-z-]+)"`).FindAllSubmatch(text, -1) {
			noted = append(noted, string(found[1]))
		}
	}
	if len(noted) < 6 {
		t.Errorf("the rooms of people note %q", noted)
	}
	for _, action := range noted {
		if word := (frame{v: &visit{zh: true}}).ActionWord(action); word == action {
			t.Errorf("%s has no words: give it some in words/audit.go", action)
		}
	}
}
