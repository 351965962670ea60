package catalog

import "slices"

// summaries are what explain says of a delivery in one sentence.
func summaries() []Sentence {
	return []Sentence{
		{"It waits.", "正在等待。"},
		{"It waits: %s.", "正在等待：{1!}。"},
		{"It waits: %s; and for %d more.", "正在等待：{1!}；另外还有 {2} 个原因。"},
		{"It is due: the next agent that asks and may have it is handed it.", "已到期，将下发给下一个来取的发送端。"},
		{"It is due and starts with the next claim.", "已到期，下一次抢占就会发送。"},
		{"Attempt %d is under way in %s.", "第 {1} 次尝试正在进行（{2}）。"},
		{"Attempt %d is under way at the agent %s.", "第 {1} 次尝试正在发送端 {2} 上进行。"},
		{"The agent %s was handed it and has not started.", "已下发给发送端 {1}，还没有开始发送。"},
		{"It was quarantined: %s.", "已隔离，等待人工处理：{1?}。"},
		{"Its state is not known to this binary: nothing will move it until a person sets it right.", "此版本程序不认识它的状态，需要人工修正。"},
		{"It is settled: %s.", "已了结：{1!}。"},
		{"It is settled: %s (%s).", "已了结：{1!}（{2?}）。"},
		{"It went in the text of the delivery %s, which the digest %s has made of %d messages.", "它与其他消息合成一条发出：汇总 {2}，投递 {1}，共 {3} 条消息。"},
		{"It was sent again by the delivery %s, which is %s.", "已由投递 {1} 重发，该投递目前{2!}。"},
		{"That text was sent again by the delivery %s, which is %s.", "该条已由投递 {1} 重发，该投递目前{2!}。"},
		{"%d of the others went in the text of a digest: its delivery is sent again, once for all of them", "其余的有 {1} 条与其他消息合成一条发出：重发的是那一条，只发一次"},
		{"%d more went in the text of a digest: its delivery is sent again, once for all of them", "另有 {1} 条与其他消息合成一条发出：重发的是那一条，只发一次"},
		{"%d, of which %d went in the text of a digest and share what is decided of its delivery", "{1}，其中 {2} 条属于汇总消息，以汇总那条投递的处理为准"},
		{"%d more went in the text of a digest and share what is decided of its delivery", "另有 {1} 条属于汇总消息，以汇总那条投递的处理为准"},
		{"An attempt began and nobody knows whether it arrived: %s.", "已经发起发送，但不知道对方是否收到：{1!}。"},
		{
			"It was waiting or under way, after %d attempts, when a new epoch of the database began: what ran on its other copy may have sent it, and nobody knows.",
			"数据库换代时它正在等待或发送（已尝试 {1} 次），另一份数据库上的进程可能已经发出，结果未知。",
		},
		{"it waits for the end of quiet hours", "等待免打扰时段结束"},
		{"its recipient does not want it by this channel", "收件人不接收该渠道的消息"},
		{"until %s", "到 {1}"},
		{"it begins by itself", "到时自动开始"},
		{"it is spread: the next members are not due yet", "正在错峰发送，下一批还没到时间"},
		{"members wait for another try: they were refused, or are left alone for now", "有成员等待再次发送：曾被拒绝，或正处于免打扰时段"},
		{"its recipient has got %d within %s, which is all that a cap allows", "收件人在 {2} 内已收到 {1} 条，达到接收上限"},
		{"quiet hours leave its recipient alone for good: there is no end to wait for", "免打扰时段一直不打扰该收件人，没有结束的时候"},
		{"quiet hours last until %s, and its deadline comes before", "免打扰时段到 {1} 才结束，晚于它的截止时间"},
		{"all of its deliveries were sent", "所有投递都已发送"},
		{"until a person or an event ends it", "到有人处理或有新的事件为止"},
		{"until %s (in %s)", "到 {1}（{2} 后）"},
		{"until %s (%s ago)", "到 {1}（{2} 前）"},
	}
}

// State is what a state is called in Chinese where it stands in a line, as it is where it is not known.
func State(of string) string {
	switch of { // words that mean something else elsewhere
	case "open":
		return "导入中"
	case "closing":
		return "整理中"
	case "active":
		return "正常"
	case "draining":
		return "排空中"
	case "waiting":
		return "通知中"
	case "told":
		return "已通知到"
	case "not_told":
		return "未通知到"
	case "acknowledged":
		return "已确认"
	}
	for _, s := range slices.Concat(states(), campaignStates()) {
		if s.English == of {
			return s.Chinese
		}
	}
	return inside(of)
}

// states are those of deliveries, where they stand in sentences.
func states() []Sentence {
	return []Sentence{
		{"pending", "待发送"}, {"sending", "发送中"}, {"quarantined", "已隔离"}, {"sent", "已发送"}, {"delivered", "已送达"}, {"undelivered", "未送达"},
		{"failed", "失败"}, {"expired", "已过期"}, {"suppressed", "已拦截"},
	}
}

// hints are what the command line says to do next.
func hints() []Sentence {
	return []Sentence{
		{"warning", "提醒"}, {"problem", "问题"},
		{
			"give an API key: export POSTHOUSE_API_KEY=ph_… (the server printed one at its first start; posthouse key add makes more), or name a file that has it: --env-file .env",
			"请提供 API 密钥：export POSTHOUSE_API_KEY=ph_…（服务器首次启动时打印过一个，posthouse key add 可再建），或用 --env-file .env 指定存有密钥的文件",
		},
		{"use a key that may do it: posthouse key list says which has the scope (read, send, admin) and the grants (--grant)", "请换用有此权限的密钥：posthouse key list 会列出各密钥的权限（read、send、admin）和授权（--grant）"},
		{"it was changed meanwhile, and nothing was stored: look at it, and run the command again", "期间已被他人修改，本次没有保存：请查看后重新执行"},
		{"try again in a moment; GET /readyz of the server says what is missing", "请稍后重试；服务器的 GET /readyz 会说明缺什么"},
		{"repeat the command with the same --idempotency-key: then nothing is sent twice", "请用同一个 --idempotency-key 重试，不会重复发送"},
		{"try again later; posthouse tenant show and posthouse key list say what is allowed", "请稍后重试；posthouse tenant show 和 posthouse key list 会列出额度"},
		{"the server's log has the details", "详情见服务器日志"},
		{"another program may listen there: --addr names another address", "可能已有程序占用该地址，可用 --addr 换一个"},
		{"is a server running there? posthouse serve starts one; --url or POSTHOUSE_URL names another", "服务器是否在运行？posthouse serve 可启动；--url 或 POSTHOUSE_URL 可指定其他地址"},
		{"is the database running there? --dsn or POSTHOUSE_DSN names another", "数据库是否在运行？--dsn 或 POSTHOUSE_DSN 可指定其他数据库"},
		{"posthouse notification list --message ID says who was told", "posthouse notification list --message ID 可查看通知到了谁"},
		{"posthouse explain ID says why one waits", "posthouse explain ID 可查看等待的原因"},
	}
}
