package form

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/wire"
)

// driver has a field of each kind that a form treats in its own way.
var driver = wire.Driver{Name: "test", Fields: []wire.Field{
	{Name: "corp_id", Kind: "string", Required: true},
	{Name: "agent_id", Kind: "int", Required: true, Account: true},
	{Name: "secret", Kind: "secret", Required: true, Secret: true, Account: true},
	{Name: "headers", Kind: "secrets", Secret: true},
	{Name: "tags", Kind: "list"},
	{Name: "quiet", Kind: "bool"},
	{Name: "safe", Kind: "bool"},
	{Name: "fast", Kind: "bool", Default: true},
}}

// What a form shows and is sent back as it is stays as it is stored: a number of seven digits, pairs, lists, and secrets that nobody types.
func TestAFormGivesBackWhatItShows(t *testing.T) {
	t.Parallel()
	var ch posthouse.Channel
	stored := `{"name":"c","tries":3,"limits":[{"max":20,"per":"1s"}],"on_unknown":"hold","config":{"corp_id":"ww1","agent_id":1000007,"secret":"********","headers":{"X-B":"********","X-A":"********"},"tags":["a b","c"],"quiet":true}}`
	if err := json.Unmarshal([]byte(stored), &ch); err != nil {
		t.Fatal(err)
	}
	f := OfChannel(driver, ch)
	sent := map[string]string{}
	for _, field := range append(f.Fields, f.Settings...) {
		if sent[field.Name] = strings.ReplaceAll(field.Value, "\n", "\r\n"); field.Checked {
			sent[field.Name] = "1"
		}
	}
	if sent["config.agent_id"] != "1000007" || sent["config.secret"] != "" || !f.Fields[2].Stored {
		t.Errorf("the form shows %v", sent)
	}
	r := readerOf(sent)
	got := r.Channel(driver, ch)
	if diff := cmp.Diff(ch, got); diff != "" || r.Problems != nil {
		t.Errorf("%v (-want +got):\n%s", r.Problems, diff)
	}
}

// A field whose text says less than what is stored keeps that where nobody has changed it, and says all of names and values in quotes.
func TestAFormKeepsWhatALineCannotSay(t *testing.T) {
	t.Parallel()
	odd := wire.Driver{Fields: []wire.Field{{Name: "separator", Kind: "string"}, {Name: "body", Kind: "text"}, {Name: "list", Kind: "list"}, {Name: "map", Kind: "map"}}}
	values := map[string]any{"a": " lead", "E:02": "transient", "a: b": "two", "end:": "x", "t": "one\ntwo", "q": `"quoted"`, `"n"`: "y", "etag": "W/\"1\""}
	ch := posthouse.Channel{Name: "c", Config: map[string]any{"separator": ", ", "body": "{}\n", "list": []any{" a", "b"}, "map": values}}
	sent := map[string]string{}
	for _, f := range OfChannel(odd, ch).Fields {
		sent[f.Name] = strings.TrimSpace(strings.ReplaceAll(f.Value, "\n", "\r\n")) // as a form is read
	}
	r := readerOf(sent)
	if diff := cmp.Diff(ch.Config, r.Channel(odd, ch).Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sent["config.map"] += "\r\nnew: 1"
	got, _ := r.Channel(odd, ch).Config["map"].(map[string]any)
	if values["new"] = "1"; got == nil || cmp.Diff(values, got) != "" {
		t.Errorf("with one more (-want +got):\n%s", cmp.Diff(values, got))
	}
	for line, want := range map[string][2]string{`X: "abc"`: {"X", `"abc"`}, "500:transient": {"500", "transient"}, `"n": 1`: {`"n"`, "1"}, "a:": {"a", ""}} {
		if name, value := pairOf(line); name != want[0] || value != want[1] {
			t.Errorf("%s is read as %q, %q", line, name, value)
		}
	}
}

// elsewhere are the settings that a channel's form does not have: hours and caps have a page, and a preset its own form.
var elsewhere = []string{"QuietHours", "Caps", "Preset", "PresetVersion"}

// The form of a channel has each of its settings: what it shows and is sent back as it is stays, and what is emptied is gone.
func TestAFormHasEachSetting(t *testing.T) {
	t.Parallel()
	var full posthouse.Channel
	stored := `{"name":"c","title":"柜台短信","profile":"flow","every":"0s","job":"OaJob","tries":3,"backoff":["1s","2m"],"jitter":0.5,"on_unknown":"hold","hold_timeout":"1h",
		"limits":[{"max":20,"per":"1s"},{"max":1000,"per":"1m","burst":5,"jitter":"80ms"}],"limit_by":"calls","account_limits":[{"max":18,"per":"1m"}],"type_limits":{"markdown":[{"max":20,"per":"1m"}]},
		"recipient_limits":[],"template_limits":{"*":[{"max":5,"per":"1s"}],"otp:v2":[{"max":5,"per":"1s"},{"max":100,"per":"1m"}]},
		"budget":{"max":20000,"per":"month","time_zone":"Asia/Shanghai"},"account_budget":{"max":500,"per":"day","when_spent":"high_priority"},
		"rate":{"base":12.5,"hours":{"from":"09:00","to":"18:00","calendar":"holidays","outside":0.25}},"max_inflight":7,"channel_max_inflight":70,"batch":100,"timeout":"1.5s","expire_end_of_day":true,
		"time_zone":"Asia/Tokyo","dedup_window":"48h","rules":[{"type":"duty","roster":"night","recipients":["head_office","branch"]},{"type":"own","options":{"a":"b c","q":"say \"no\"","x":"y=z"}}],
		"codes":{"500":"transient","E02":"recipient"},"probe_after":"2m","probe_max":"2h","promise":{"high":"30s","low":"2h"},"pull":true,"needs":{"operator":"cmcc","sim":"2"},"fair_after":"5m",
		"accounts":true,"sticky":"conversation","egress":{"hosts":["files.example.com","*.example.com"],"ports":[443,8443],"recipient_urls":true},"keep_answers":false,"exempt_kinds":["otp"],
		"test_to":["13800138000","13800138001"],"failover":true}`
	if err := json.Unmarshal([]byte(stored), &full); err != nil {
		t.Fatal(err)
	}
	sent := map[string]string{}
	for _, f := range OfChannel(driver, full).Settings {
		if f.Value == "" && !f.Checked && f.Name != "promise.normal" {
			t.Errorf("the form does not show %s", f.Name)
		}
		if f.Label == "" || f.LabelZH == "" {
			t.Errorf("%s has no label", f.Name)
		}
		if sent[f.Name] = strings.ReplaceAll(f.Value, "\n", "\r\n"); f.Checked {
			sent[f.Name] = "1"
		}
	}
	settings := reflect.ValueOf(full.ChannelSettings)
	for i := range settings.NumField() {
		if name := settings.Type().Field(i).Name; settings.Field(i).IsZero() != slices.Contains(elsewhere, name) {
			t.Errorf("the test does not set %s, or it has a page of its own", name)
		}
	}
	read := func(of posthouse.Channel) posthouse.ChannelSettings {
		r := readerOf(sent)
		got := r.Channel(driver, of)
		if r.Problems != nil {
			t.Errorf("%v", r.Problems)
		}
		return got.ChannelSettings
	}
	if diff := cmp.Diff(full.ChannelSettings, read(posthouse.Channel{Name: "c"})); diff != "" {
		t.Errorf("what is shown and sent back (-want +got):\n%s", diff)
	}
	for name := range sent {
		sent[name] = ""
	}
	if diff := cmp.Diff(posthouse.ChannelSettings{}, read(full)); diff != "" {
		t.Errorf("what is emptied (-want +got):\n%s", diff)
	}
	clear(sent)
	if diff := cmp.Diff(full.ChannelSettings, read(full)); diff != "" {
		t.Errorf("what was not sent at all (-want +got):\n%s", diff)
	}
}

// Settings that cannot be read are named by their fields, and nothing of them is stored.
func TestASettingThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"backoff": "1m, soon", "jitter": "much", "timeout": "soon", "every": "soon", "template_limits": "otp 5 a second", "egress.ports": "https", "rules": "duty night", "rate.base": "fast", "promise.low": "x",
	} {
		r := readerOf(map[string]string{name: text, "rate": "1", "egress.hosts": "", "promise.high": "", "promise.normal": ""})
		r.Channel(driver, posthouse.Channel{})
		if len(r.Problems) != 1 || r.Problems[0].Path != name {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
	r := readerOf(map[string]string{"rate": "", "rate.base": "20"})
	if got := r.Channel(driver, posthouse.Channel{}); len(r.Problems) != 1 || r.Problems[0].Path != "rate" || got.Rate != nil {
		t.Errorf("a base of no rate: %v", r.Problems)
	}
}

func readerOf(sent map[string]string) *Reader {
	return &Reader{
		Sent: func(name string) string { return sent[name] }, Say: func(name string) string { return name },
		Has: func(name string) bool { _, ok := sent[name]; return ok },
	}
}

// What cannot be read is named with its field, and what was typed is shown again, but for secrets.
func TestAFormSaysWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := readerOf(map[string]string{"tries": "many", "limits": "20/1s\r\n1000/1m\r\n9/1m nonsense", "config.secret": "s3cret", "config.agent_id": "x"})
	in := r.Channel(driver, posthouse.Channel{})
	f := OfChannel(driver, posthouse.Channel{})
	f.Refill(r.Sent)
	var told []string
	for _, p := range r.Problems {
		told = append(told, p.Path+" "+p.Message)
	}
	for _, field := range append(f.Fields, f.Settings...) {
		if strings.Contains(field.Value, "s3cret") {
			t.Error("the form shows a secret")
		}
	}
	want := []string{`tries want_number`, `limits line 3: "nonsense" is not a limit such as 20/1s, 1000/1m or 20/1s/burst=5/jitter=80ms, or unlimited alone`}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.Config["agent_id"] != "x" || in.Config["secret"] != "s3cret" {
		t.Errorf("for the API to refuse, the form says %v", in.Config)
	}
}

// Somebody else's change stands beside the field that says something else, and beside no other.
func TestAFormShowsBoth(t *testing.T) {
	t.Parallel()
	ch := posthouse.Channel{Name: "c", Config: map[string]any{"corp_id": "ww2", "secret": channel.Mask, "quiet": true, "tags": []any{"a", "b"}}}
	f := OfChannel(driver, ch)
	f.Refill(func(name string) string {
		return map[string]string{"config.corp_id": "ww1", "config.quiet": "", "config.fast": "1", "config.tags": "a\r\nb"}[name]
	})
	f.Compare(OfChannel(driver, ch), "yes", "no")
	differs := map[string]string{}
	for _, field := range append(f.Fields, f.Settings...) {
		if field.Differs {
			differs[field.Name] = field.Theirs
		}
	}
	if diff := cmp.Diff(map[string]string{"config.corp_id": "ww2", "config.quiet": "yes"}, differs); diff != "" || !f.Moved {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A channel that sends by accounts has none of what is an account's, but what it says of it for all.
func TestWhatIsAnAccountsIsNotTheChannels(t *testing.T) {
	t.Parallel()
	names := func(config map[string]any) (list []string) {
		for _, f := range OfChannel(driver, posthouse.Channel{Name: "c", Config: config, ChannelSettings: posthouse.ChannelSettings{Accounts: true}}).Fields {
			list = append(list, f.Name)
			if f.Account && f.Required {
				t.Errorf("the channel must have %s", f.Name)
			}
		}
		return list
	}
	if diff := cmp.Diff([]string{"config.corp_id", "config.headers", "config.tags", "config.quiet", "config.safe", "config.fast"}, names(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := names(map[string]any{"secret": channel.Mask}); len(got) != 7 {
		t.Errorf("with a secret for all, the fields are %v", got)
	}
}

// An error calls fields as the form labels them, and leaves what stands in quotes, which is a value.
func TestErrorsCallFieldsByTheirLabels(t *testing.T) {
	t.Parallel()
	f := OfChannel(wire.Driver{}, posthouse.Channel{Name: "out", Driver: "discard"})
	for text, want := range map[string]string{
		"没有多个账号时请用 max_inflight":                        "没有多个账号时请用 “" + f.Label("max_inflight") + "”",
		"只有设了 pull 的渠道才有，为 \"pull\"":                    "只有设了 “" + f.Label("pull") + "” 的渠道才有，为 \"pull\"",
		"应为 09:00 这样的时间":                                "应为 09:00 这样的时间",
		"例如 20/1s/burst=5/jitter=80ms":                  "例如 20/1s/burst=5/jitter=80ms",
		"应为 ok、transient、rate、auth 之一，或 500: transient": "应为 ok、transient、rate、auth 之一，或 500: transient",
		"egress.hosts 第 1 项":                            "“" + f.Label("egress.hosts") + "” 第 1 项",
	} {
		if got := f.Labelled(text); got != want || strings.Contains(want, "“”") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The form offers each profile that there is.
func TestProfilesAreChoices(t *testing.T) {
	t.Parallel()
	var offered []string
	for _, c := range profiles() {
		offered = append(offered, c.Value)
	}
	if !slices.Equal(offered, retry.Names()) {
		t.Errorf("the form offers %q, want %q", offered, retry.Names())
	}
}
