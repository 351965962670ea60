package form

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
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
	r := Reader{Sent: func(name string) string { return sent[name] }}
	got := r.Channel(driver, ch)
	ch.Config["agent_id"] = 1000007 // the number, as it is typed
	if diff := cmp.Diff(ch, got); diff != "" || r.Problems != nil {
		t.Errorf("%v (-want +got):\n%s", r.Problems, diff)
	}
}

// What cannot be read is named with its field, and what was typed is shown again, but for secrets.
func TestAFormSaysWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	sent := func(name string) string {
		return map[string]string{"tries": "many", "limits": "20/1s\r\n1000/1m\r\n9/1m nonsense", "config.secret": "s3cret", "config.agent_id": "x"}[name]
	}
	r := Reader{Sent: sent, Say: func(name string) string { return name }}
	in := r.Channel(driver, posthouse.Channel{})
	f := OfChannel(driver, posthouse.Channel{})
	f.Refill(sent)
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
		return map[string]string{"config.corp_id": "ww1", "config.quiet": "", "config.tags": "a\r\nb"}[name]
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
	if diff := cmp.Diff([]string{"config.corp_id", "config.headers", "config.tags", "config.quiet"}, names(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := names(map[string]any{"secret": channel.Mask}); len(got) != 5 {
		t.Errorf("with a secret for all, the fields are %v", got)
	}
}
