package catalog

// notified are what is said of whether a person knew of a notification.
func notified() []Sentence {
	return []Sentence{
		{"%s knew at %s: acknowledged by %s", "{1} 于 {2} 知晓：已确认（{3!}）"},
		{"%s was told at %s by %s, and %s acknowledged it at %s", "{1} 于 {2} 经 {3} 通知到，{4!} 于 {5} 确认"},
		{"%s was told at %s by %s, and had not acknowledged it by %s", "{1} 于 {2} 经 {3} 通知到，到 {4} 尚未确认"},
		{"%s did not know by %s: %s", "{1} 到 {2} 尚不知晓：{3!}"},
		{"acknowledged by %s at %s, which is later", "{2} 才确认（{1!}）"},
		{"taken note of by %s at %s, which is later", "{1!} 于 {2} 才确认"},
		{"taken note of by %s at %s", "由 {1!} 于 {2} 确认"},
		{"told at %s, which is later", "{1} 才通知到"},
		{"%s was told at %s", "{1} 于 {2} 通知到"},
		{"its message by %s was %s at %s", "经 {1} 的消息于 {3} 为{2!}"},
		{"the next step begins at %s", "下一步开始于 {1}"},
		{"the reason is %s", "原因是{1!}"},
		{"nothing has been sent yet", "还没有发送"},
		{"Step %d was passed over at %s: %s.", "第 {1} 步于 {2} 跳过：{3!}。"},
		{"Step %d was passed over at %s: %s (%s).", "第 {1} 步于 {2} 跳过：{3!}（{4!}）。"},
		{"In round %d step %d was passed over at %s: %s.", "第 {1} 轮第 {2} 步于 {3} 跳过：{4!}。"},
		{"In round %d step %d was passed over at %s: %s (%s).", "第 {1} 轮第 {2} 步于 {3} 跳过：{4!}（{5!}）。"},
		{"In round %d step %d began at %s.", "第 {1} 轮第 {2} 步开始于 {3}。"},
		{"In round %d step %d began at %s: %s.", "第 {1} 轮第 {2} 步开始于 {3}：{4!}。"},
		{"Step %d began at %s.", "第 {1} 步开始于 {2}。"},
		{"Step %d began at %s: %s.", "第 {1} 步开始于 {2}：{3!}。"},
		{"Delivery %s to %s by %s is %s.", "投递 {1}（{2}，渠道 {3}）：{4!}。"},
		{"Delivery %s to %s by %s is %s (%s).", "投递 {1}（{2}，渠道 {3}）：{4!}（{5!}）。"},
		{"given at start", "启动时提供的密钥"}, // the name of a key, where it acknowledges and says for nobody
		{"It was acknowledged at %s by %s: no further step begins.", "{2!} 已于 {1} 确认，不再执行后续步骤。"},
		{"%s was told at %s: no further step begins.", "已于 {2} 通知到 {1}，不再执行后续步骤。"},
		{"Its person was not told: %s was, at %s.", "没有通知到本人，已于 {2} 改为通知 {1}。"},
		{"Its sender said at %s that it is over, before it was proven that anybody was told: no further step begins.", "发送方于 {1} 通知已恢复，此前没有证据表明有人被通知到。不再执行后续步骤。"},
		{"%d notifications go no further: what they tell of is over", "{1} 个通知不再继续：已恢复"},
		{"the sender left %d alerts of the group out", "发送方省略了这一组的 {1} 条告警"},
		{"the sender left %d alerts of the group out: its status is resolved, so they are taken for resolved too", "发送方省略了这一组的 {1} 条告警：整组状态为已恢复，这些也视为已恢复"},
		{"%s does not hear that it is over: %s calls people, and the route has no other channel for this person.", "不向 {1} 发恢复消息：{2} 是打电话的渠道，路由里没有能通知此人的其他渠道。"},
		{"%s does not hear that it is over: %s.", "不向 {1} 发恢复消息：{2!}。"},
		{"%s hears by %s that it is over, from %s.", "{3} 起经 {2} 向 {1} 发恢复消息。"},
		{"It was not told: %s. All its steps are over.", "没有通知到：{1!}。所有步骤均已结束。"},
		{"A new epoch holds it: a step may have begun in what a restore has undone. posthouse notification resume %s has it go on, posthouse notification end ends it.", "新纪元将它挂起：被恢复撤销的那段时间里可能已开始某一步。posthouse notification resume {1} 让它继续，posthouse notification end 结束它。"},
		{"It waits for what is under way or in doubt: nothing else begins the next step.", "正在等待发送中或结果未知的投递，此前不会开始下一步。"},
		{"Its first step begins at %s.", "第一步将于 {1} 开始。"},
		{"It waits: %s. It goes on at %s.", "正在等待：{1!}。将于 {2} 继续。"},
		{"It waits for step %d of the route %s in round %d. The next step begins at %s, unless that ends it before.", "正在等待路由 {2} 第 {3} 轮的第 {1} 步。如未达到条件，下一步将于 {4} 开始。"},
		{"It waits for step %d of the route %s. No step begins after its deadline, %s.", "正在等待路由 {2} 的第 {1} 步。截止时间 {3} 之后不再有下一步。"},
		{"It waits for step %d of the route %s. The next step begins at %s, unless that ends it before.", "正在等待路由 {2} 的第 {1} 步。如未达到条件，下一步将于 {3} 开始。"},
		{"%s is a notification: its steps are told by posthouse notification show", "{1} 是通知编号，经过请用 posthouse notification show 查看"},
		{"the directory has no user whose id or name is %s", "通讯录中没有编号或姓名为 {1} 的用户"},
		{"By %s:", "截至 {1}："},
		{"By %s, yesterday: %s is yet to come today.", "截至昨天 {1}（今天还没到 {2}）："},
		{"%s lies ahead: what a person knew can be said of a time that has come, such as 03:10 or \"2026-10-01 03:10\"", "{1} 还没到；只能查询已过去的时间，例如 03:10 或 \"2026-10-01 03:10\""},
		{"no notification concerns %s from %s to %s", "从 {2} 到 {3} 没有与 {1} 有关的通知"},
		{`must be a JSON object, such as {"level": 3}`, `须为 JSON 对象，例如 {"level": 3}`},
		{"must be a time such as 2026-10-01T08:30", "须为时间，例如 2026-10-01T08:30"},
		{"it would wait until %s, and its deadline comes before", "要等到 {1}，晚于它的截止时间"},
		{"skipped: %s", "跳过：{1!}"},
		{"replay of %s", "重发自 {1}"},
		{"skipped: %s, %s", "跳过：{1!}，{2!}"},
		{"waits until %s: %s", "等到 {1}：{2!}"},
		{"the route ends here: %s", "路由到此结束：{1!}"},
		{"it waits longer than its step has time: %s", "等待超出本步时限：{1!}"},
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
