package catalog

// digests are what is wrong with digests, and how what they gather waits.
func digests() []Sentence {
	return []Sentence{
		{`is missing or 0s: want how long messages are gathered, %s to %s, such as "10m"; or a cron, such as "0 18 * * *"`, `没有填写或为 0s：请填写收集多长时间，{1} 至 {2}，例如 "10m"；或者填写 cron，例如 "0 18 * * *"`},
		{`asks for %.60q, which no message has: want %s, such as payload.cluster`, "用到了 {1}，消息没有这个字段，可用 {2}，例如 payload.cluster"},
		{"stands beside a window: give one of them", "不能与 window 同时填写"},
		{"is %.80q: want a name such as Asia/Shanghai", "为 {1}，应为时区名称，例如 Asia/Shanghai"},
		{"needs a cron, which it is for", "只能与 cron 一起填写"},
		{"there is no template %.80q: store it first, such as one of the text ${count}: ${list}", "没有模板 {1}：请先保存一个，例如正文为 ${count}: ${list}"},
		{"is %.80q, which asks for ${%.60s}, and no digest has that: want %s, such as ${count}: ${list}", "为 {1}，其中用到 ${{2}}，汇总没有这个字段：可用 {3}，例如 ${count}: ${list}"},
		{"asks for ${%.60s}, and the digest %s, which uses this template, does not have that: want %s", "用到了 ${{1}}，而使用本模板的汇总 {2!} 没有这个字段：可用 {3}"},
		{"the template makes the texts of %s: change or delete that first", "{1}正在使用此模板：请先修改或删除它"},
		{"is %.60q: want waiting, leaving, settled, alone or empty", "为 {1}，应为 waiting、leaving、settled、alone 或 empty"},
		{"there is no digest %.80q", "没有汇总 {1}"},
		{"there is no collection %.80q", "没有这次汇总 {1}"},
		{"the digest %s gathers it with others", "汇总 {1} 正在收集，到时合成一条发送"},
		{"the digest %s gathers it with others, and could not make their text: %s", "汇总 {1} 正在收集，但正文无法生成：{2!}"},
		{"it leaves with the delivery %s, which the digest %s has made of it and others", "已与其他消息合成投递 {1}（汇总 {2}），随它一起发送"},
		{"it shares what becomes of the delivery %s, which the digest %s has made of it and others: decide of that one", "它与投递 {1}（汇总 {2}）结果相同：请对那条投递做确认"},
		{"the delivery shares what becomes of the one that its collection %s leaves by: decide about that one", "该投递与汇总 {1} 所用的投递结果相同：请对那条投递做确认"},
		{"the messages of the delivery %s left otherwise: it was one text of the collection %s", "投递 {1} 中的消息已用别的投递发出：它是汇总 {2} 的一次正文"},
		{"the delivery %s left with others, as the delivery %s of the collection %s: replay that one", "投递 {1} 与其他消息合成投递 {2}（汇总 {3}）一起发送：请重发那一条"},
		{"the collection %s of delivery %s is not kept any more, so it is not known which of its deliveries tells what: send a new message", "投递 {2} 的汇总 {1} 已不再保留，无法确定由哪条投递发送：请发送新消息"},
		{"its digest does not say now when it leaves", "暂时读不到它的汇总何时发送"},
	}
}
