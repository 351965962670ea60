package simulator

// wordsOf are the page's words in Chinese or English.
func wordsOf(zh bool) map[string]string {
	out := make(map[string]string, len(pageWords))
	for _, w := range pageWords {
		out[w.name] = w.en
		if zh {
			out[w.name] = w.zh
		}
	}
	return out
}

var pageWords = []struct{ name, en, zh string }{
	{"title", "Posthouse simulator", "Posthouse 模拟器"},
	{"lead", "Fake providers over real HTTP. Nothing here reaches a person.", "以真实 HTTP 模拟各平台接口，这里的消息不会真正发给任何人。"},
	{"other", "中文", "English"},
	{"pause", "Stop refreshing", "停止刷新"},
	{"resume", "Refresh every 3 s", "每 3 秒刷新"},
	{"arrivals", "Arrivals", "到达"},
	{"accepted", "Accepted", "已接受"},
	{"refused", "Refused", "已拒绝"},
	{"lost_answers", "Lost answers", "应答丢失"},
	{"repeats", "Idempotent repeats", "幂等重复"},
	{"duplicates", "Duplicates", "重复收下"},
	{"latest", "Latest arrivals, newest first", "最近到达（最新在前）"},
	{"all", "All", "全部"},
	{"none", "Nothing has arrived yet.", "还没有消息到达。"},
	{"try", "Send a first message:", "发第一条消息试试："},
	{"number", "No.", "序号"},
	{"time", "Time", "时间"},
	{"provider", "Provider", "平台"},
	{"user", "User", "收件人"},
	{"message", "Message", "消息"},
	{"answer", "Answer", "应答"},
	{"status", "HTTP status", "HTTP 状态码"},
	{"key", "Key", "幂等键"},
	{"providers", "Providers", "平台"},
	{"path", "Address", "地址"},
	{"requests", "Requests", "请求数"},
	{"violations", "Limit violations", "超限次数"},
	{"faults", "Faults in force", "生效中的故障"},
	{"healthy", "none", "无"},
	{"tricks", "Recipients that act on their name", "名字自带故障的收件人"},
	{"tricks_help", "Add a hyphen and anything to tell them apart: lost-answer-7.", "名字后面加连字符和任意后缀即可区分，例如 lost-answer-7。"},
	{"what", "What happens", "效果"},
	{"is_accepted", "accepted", "已接受"},
	{"is_refused", "refused", "已拒绝"},
	{"is_lost", "answer lost", "应答丢失"},
	{"is_repeat", "repeat", "幂等重复"},
	{"is_duplicate", "duplicate", "重复收下"},
	{"phones", "Phones", "模拟手机"},
	{"phones_title", "Fake phones", "模拟手机"},
	{"phones_lead", "What sender apps told their phones to send. Nothing here leaves this machine.", "各发送端 APP 交给手机发出的短信，不会真正离开本机。"},
	{"phones_none", "No phone has sent anything yet.", "还没有手机发过短信。"},
	{"phones_try", "Start a sender app, or hand a phone an SMS yourself:", "启动一个发送端，或者直接让手机发一条："},
	{"parts", "parts:", "计费条数"},
	{"not_sent", "not sent", "未发出"},
	{"numbers", "Numbers that act by themselves", "自带故障的号码"},
	{"phone_number", "Number", "号码"},
	{"back", "All arrivals", "全部到达"},
}
