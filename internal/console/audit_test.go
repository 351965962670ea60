package console

import "testing"

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
