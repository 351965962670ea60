package words

// timelineWords are the texts of what happened to a delivery, and of what will.
func timelineWords() map[string]Word {
	return map[string]Word{
		"next":                   {"Next", "接下来"},
		"next_send":              {"it is sent, at the earliest", "最早将于此时发送"},
		"next_claim":             {"it is sent within a moment.", "马上发送。"},
		"next_fetch":             {"the next phone that asks is handed it.", "等发送端来取。"},
		"next_held":              {"it is sent when what holds it is over; no time is set for that.", "以上原因解除后发送，时间未定。"},
		"next_cancel":            {"it is cancelled, and not sent again.", "将被撤销，不再发送。"},
		"next_lease":             {"without a result its outcome is unknown", "届时仍没有结果，就记为未知或转交他人"},
		"next_query":             {"the provider is asked what became of it", "将向平台查询结果"},
		"next_hold":              {"without a proof it counts as failed", "届时仍没有证据，就记为失败"},
		"next_send_then":         {"sent, at the earliest", "最早在此时发送"},
		"next_lease_then":        {"without a result its outcome is unknown", "仍没有结果，就记为未知或转交他人"},
		"next_query_then":        {"the provider is asked what became of it", "向平台查询结果"},
		"next_hold_then":         {"without a proof it counts as failed", "仍没有证据，就记为失败"},
		"next_receipt_or_person": {"nothing by itself: a receipt of the provider or a person decides.", "不会自动处理，等平台回执或人工确认。"},
		"next_person":            {"nothing by itself: a person lets it go on or discards it.", "不会自动处理，等人工放行或丢弃。"},
		"next_receipt":           {"it is not sent again. A receipt, where the provider sends one, will stand here.", "不会再发送。平台如有回执，会显示在这里。"},
		"next_replay":            {"nothing by itself. It can be sent again.", "不会自动重试，需要时可以重发。"},
		"next_nothing":           {"nothing: it is settled.", "没有了，已经了结。"},
		"received":               {"Received by the SMS front", "短信接入请求"},
		"to_paused_channel":      {"See what is paused, and resume it", "查看暂停情况并恢复"},
		"of_notification":        {"A step of the notification", "所属通知"},
		"facts":                  {"Details", "详情"},
	}
}
