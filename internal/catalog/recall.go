package catalog

// recall are the reasons why what was sent was not taken back.
func recall() []Sentence {
	return []Sentence{
		{"it is being sent right now: recall it again when that has ended", "正在发送，结束后请再次撤回"},
		{"nobody knows whether it was sent, and it has no reference by which its provider would know it", "不知道是否已发出，也没有可供平台识别的编号"},
		{"the channel %s is not open", "渠道 {1} 未开启"},
		{"the account %s that sent it is not in the channel any more: only that account can take it back", "发送它的账号 {1} 已不在渠道中，只有该账号能够撤回"},
		{"what the driver %s has sent cannot be taken back", "驱动 {1} 发出的消息不能撤回"},
		{"it has no reference by which its provider would know it", "没有可供平台识别的编号"},
		{"its history cannot be read right now", "暂时读不到它的历史记录"},
		{"it was sent in a digest with others: recall the message of the delivery that the collection %s left by", "它与其他消息合成一条发送：请撤回汇总 {1} 所用投递的那条消息"},
		{"it went in one text with others, by the delivery %s of the digest %s", "它与其他消息合成一条发出（汇总 {2}，投递 {1}）"},
		{"%s: posthouse recall %s takes back all %d messages of it", "{1!}：执行 posthouse recall {2} 会撤回其中全部 {3} 条消息"},
		{"%s; what the driver %s has sent cannot be taken back", "{1!}；驱动 {2} 发出的消息不能撤回"},
		{
			"%s is delivery %d of the message %s, and a recall takes a whole message: posthouse recall %s cancels what has not been sent of all its recipients, and has taken back what was",
			"{1} 是消息 {3} 的第 {2} 条投递，撤回以整条消息为单位：执行 posthouse recall {4} 会取消全部收件人中尚未发出的，并撤回已发出的",
		},
		{"its recipient wants no messages", "收件人不接收任何消息"},
		{"its recipient has switched off the kind %.80s", "收件人已关闭类别 {1}"},
		{"the provider was told it in one call with other messages, and would take these back too", "它与其他消息在同一次调用中发送，撤回会连带撤回其他消息"},
		{"the driver panicked", "驱动内部出错"},
		{"the driver did not return at its time-out", "驱动超时未返回"},
		{"WeCom takes a message back within 24 hours of its send", "企业微信只能撤回 24 小时内发送的消息"},
		{"DingTalk takes a work notification back within 24 hours of its send", "钉钉只能撤回 24 小时内发送的工作通知"},
		{"the reference is not a task_id of DingTalk's, which is a number", "编号不是钉钉的 task_id（应为数字）"},
		{"the reference is not a message_id of Feishu's", "编号不是飞书的 message_id"},
	}
}
