package dingtalk_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/dingtalk"
)

// FLOW-14: a title is cut to 20 characters; whoever writes a template is told before.
func TestWhatDingTalkWouldCutOrRefuseIsSaidBefore(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("长", 21)
	for _, c := range []struct {
		name    string
		kind    channel.Type
		config  map[string]any
		content posthouse.Content
		path    string
		says    string
	}{
		{"a title that fits", dingtalk.Gateway(), map[string]any{"baseUrl": "https://g.test/", "agentId": "1", "corpId": "c"}, posthouse.Content{Title: long[3:], Text: long}, "", ""},
		{"a title that is cut", dingtalk.Gateway(), map[string]any{"baseUrl": "https://g.test/", "agentId": "1", "corpId": "c"}, posthouse.Content{Title: long}, "title", "is 21 long: the gateway takes 20"},
		{"a notification that fits", dingtalk.Work(), map[string]any{"agent_id": "1", "app_key": "k", "app_secret": "s"}, posthouse.Content{Text: strings.Repeat("a", 1900)}, "", ""},
		{"a notification that is refused", dingtalk.Work(), map[string]any{"agent_id": "1", "app_key": "k", "app_secret": "s"}, posthouse.Content{Text: strings.Repeat("a", 2048)}, "content", "DingTalk takes 2048"},
		{"a post that fits", dingtalk.Robot(), map[string]any{"access_token": "t"}, posthouse.Content{Text: strings.Repeat("a", 14000)}, "", ""},
		{"a post that is refused", dingtalk.Robot(), map[string]any{"access_token": "t"}, posthouse.Content{Text: strings.Repeat("a", 15000)}, "content", "DingTalk takes 15000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			problems := open(t, c.kind, c.config).(channel.Fitter).Fit(c.content)
			if c.path == "" {
				if len(problems) != 0 {
					t.Errorf("got %+v, want nothing", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Path != c.path || !strings.Contains(problems[0].Message, c.says) {
				t.Errorf("got %+v, want %s: %s", problems, c.path, c.says)
			}
		})
	}
}
