package preset

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/presets"
)

// wrecked changes one thing of a preset, so that its shapes must say so.
type wrecked struct {
	name   string
	config map[string]any
}

var placeholder = regexp.MustCompile(`\$\{[^"}]*(?:"[^"]*"[^"}]*)*\}`)

// mutations are a preset with one placeholder, one header, or one place of the answer another.
func mutations(p *Preset) (list []wrecked) {
	add := func(name, field string, value any) {
		config := maps.Clone(p.Config)
		config[field] = value
		list = append(list, wrecked{name, config})
	}
	texts := func(field, text string, put func(string) any) {
		for _, at := range placeholder.FindAllStringIndex(text, -1) {
			if strings.Contains(text[at[0]:at[1]], "hook.") || at[0] == 0 && strings.HasPrefix(text, "${value.") {
				continue // the beginning of a URL
			}
			add(field+" without "+text[at[0]:at[1]], field, put(text[:at[0]]+"x"+text[at[1]:]))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(p.Config)) {
		switch value := p.Config[field].(type) {
		case string:
			switch field {
			case "url", "body", "token_url", "token_body":
				texts(field, value, func(s string) any { return s })
			case "id_path", "token_path", "receipt_id", "receipt_address":
				add(field+" elsewhere", field, "$.elsewhere.than")
			case "receipt_answer":
				add(field+" another", field, value+" ")
			}
		case map[string]any:
			for name, text := range value {
				switch field {
				case "headers":
					less := maps.Clone(value)
					delete(less, name)
					add("without the header "+name, field, less)
					texts(field, text.(string), func(s string) any {
						other := maps.Clone(value)
						other[name] = s
						return other
					})
				case "failed":
					add("without "+name, field, map[string]any{})
				}
			}
		case []any:
			if _, each := p.Config["results_path"]; field == "success_values" && !each || field == "receipt_delivered" || field == "result_success" {
				add(field+" another", field, []any{"never"})
			}
		}
	}
	return list
}

// A preset of which one placeholder, header or path is another does not hold over its shapes: a wrong field, a signature that is
// missing. What the shapes do not see would be a mistake that nobody sees.
func TestShapesSeeEveryMutationOfTheirPreset(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range list {
		for _, m := range mutations(p) {
			seen++
			other := *p
			other.Config = m.config
			if len(other.Try()) == 0 {
				t.Errorf("%s %s: its shapes still hold", p.Name, m.name)
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d mutations were tried", seen)
	}
}

// A request of which one leaf is another, missing or too many differs from its shape.
func TestShapesSeeEveryMutationOfARequest(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for i := range p.Shapes.List {
			s := &p.Shapes.List[i]
			for path := range s.Request {
				less := maps.Clone(s.Request)
				delete(less, path)
				other := maps.Clone(s.Request)
				other[path] += "x"
				for what, got := range map[string]leaves{"without ": less, "with another ": other} {
					if len(compare(s.Request, got)) == 0 {
						t.Errorf("%s, %s: %s%s is the same", p.Name, s.Name, what, path)
					}
				}
			}
		}
	}
}

// The gallery says who each preset is for, in both languages, and has those that people ask for first.
func TestTheGalleryHasWhatPeopleAskFor(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
		for i := range p.Shapes.List {
			if s := &p.Shapes.List[i]; s.Evidence != Unverified && !strings.HasPrefix(s.Source, "https://") {
				t.Errorf("%s, %s: its source %q is no address", p.Name, s.Name, s.Source)
			}
		}
	}
	for name := range strings.FieldsSeq(`feishu_robot dingtalk_robot wecom_robot wechat_miniprogram serverchan pushplus bark ntfy gotify wxpusher
		jpush getui xiaomi oppo vivo honor huawei_v1 umeng yunpian chuanglan telegram slack_hook slack discord teams google_chat mattermost
		rocketchat matrix zulip pushover pagerduty twilio whatsapp`) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no preset %s", name)
		}
	}
}

// Fill keeps what is not given, and says what is missing.
func TestFillKeepsWhatAChannelHas(t *testing.T) {
	t.Parallel()
	p, err := One(presets.Files(), "slack_hook")
	if err != nil {
		t.Fatal(err)
	}
	const hook = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
	first, problems := p.Fill(map[string]string{"hook": hook}, nil)
	if len(problems) > 0 || first["url"] != "https://hooks.slack.com/${raw(secret.hook)}" || strings.Contains(fmt.Sprint(first["values"]), "XXXX") {
		t.Fatalf("%v, %v", first, problems)
	}
	shown := maps.Clone(first)
	shown["secrets"] = map[string]any{"hook": channel.Mask}
	again, problems := p.Fill(nil, shown)
	if len(problems) > 0 || again["url"] != first["url"] || again["secrets"].(map[string]any)["hook"] != channel.Mask {
		t.Errorf("%v, %v", again, problems)
	}
	shown["timeout_of_ours"] = "kept"
	moved, problems := p.Refill(map[string]string{"hook": "https://hooks.example.com/a"}, shown)
	if len(problems) > 0 || moved["url"] != "https://hooks.example.com/${raw(secret.hook)}" || moved["timeout_of_ours"] != "kept" || moved["secrets"].(map[string]any)["hook"] != "a" {
		t.Errorf("%v, %v", moved, problems)
	}
	delete(shown, "timeout_of_ours")
	if len(p.Difference(shown)) != 0 {
		t.Errorf("it differs from itself: %v", p.Difference(shown))
	}
	for given, says := range map[string]string{"": "is missing", "hooks.slack.com/x": "is not allowed", "https://elsewhere.example": "is not allowed"} {
		if _, problems := p.Fill(map[string]string{"hook": given}, nil); len(problems) != 1 || !strings.Contains(problems[0].Message, says) || given != "" && strings.Contains(problems[0].Message, given) {
			t.Errorf("%q: %v", given, problems)
		}
	}
}
