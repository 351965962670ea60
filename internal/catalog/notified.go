package catalog

// notified are what is said of whether a person knew of a notification.
func notified() []Sentence {
	return []Sentence{
		{"%s knew at %s: acknowledged by %s", "{1} 于 {2} 知晓：已确认（{3!}）"},
		{"%s was told at %s by %s, and %s acknowledged it at %s", "{1} 于 {2} 经 {3} 通知到，{4} 于 {5} 确认"},
		{"%s was told at %s by %s, and had not acknowledged it by %s", "{1} 于 {2} 经 {3} 通知到，到 {4} 尚未确认"},
		{"%s did not know by %s: %s", "{1} 到 {2} 尚不知晓：{3!}"},
		{"acknowledged by %s at %s, which is later", "{2} 才确认（{1!}）"},
		{"taken note of by %s at %s, which is later", "{1} 于 {2} 才确认"},
		{"taken note of by %s at %s", "由 {1} 于 {2} 确认"},
		{"told at %s, which is later", "{1} 才通知到"},
		{"%s was told at %s", "{1} 于 {2} 通知到"},
		{"its message by %s was %s at %s", "经 {1} 的消息于 {3} 为{2!}"},
		{"the next step begins at %s", "下一步开始于 {1}"},
		{"the reason is %s", "原因是{1!}"},
		{"nothing has been sent yet", "还没有发送"},
		{"no notification concerns %s from %s to %s", "从 {2} 到 {3} 没有与 {1} 有关的通知"},
		{"only so many were looked at: --cursor %s leads on", "只查看了一部分，用 --cursor {1} 继续"},
	}
}

// ways are those of acknowledgements.
func ways() []Sentence {
	return []Sentence{
		{"API, command or console", "经 API、命令行或控制台"}, {"the link", "点击确认链接"}, {"the button of a card", "点击卡片按钮"}, {"an answer to the mail", "回复邮件"},
		{"a text message", "回复短信"}, {"a key in the call", "通话中按键"},
	}
}
