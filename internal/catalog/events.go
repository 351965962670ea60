package catalog

// Event is what an event of a delivery is called in Chinese, as it is where it is not known.
func Event(of string) string {
	if word, known := events()[of]; known {
		return word
	}
	return of
}

func events() map[string]string {
	return map[string]string{
		"accept": "受理", "suppress": "拦截", "claim": "领取", "start": "开始发送", "release": "退回",
		"lease_lost": "租约丢失", "quarantine": "隔离", "sent": "已发送", "retry": "待重试", "fail": "失败",
		"ambiguous": "结果未知", "resend": "再次发送", "assume_sent": "视为已发送", "resolve": "已确认结果", "hold_timeout": "挂起超时",
		"evidence": "收到证据", "receipt": "收到回执", "cancel": "撤销", "cancel_request": "要求撤销", "expire": "过期",
		"requeue": "放行", "discard": "丢弃", "epoch_hold": "换代挂起", "move": "改用其他账号", "admit": "轮到发送",
		"gather": "汇总", "recall": "撤回", "wake": "免打扰提前结束",
	}
}
