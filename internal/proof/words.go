package proof

import (
	"cmp"

	"github.com/posthouse/posthouse/wire"
)

func english() map[string]string {
	return map[string]string{
		"title": "Proof of a message", "lead": "This page shows a signed statement. The file proof.json has the signed bytes: this page is for reading, and the signature below is over that file's statement.",
		"message": "Message", "tenant": "Tenant", "person": "About this recipient alone", "others": "Others, not named", "another": "another recipient", "masked": "SHA-256 of the whole text", "route": "Route", "channel": "Channel", "kind": "Kind", "ref": "Ref", "source": "Sender",
		"accepted": "Accepted", "deadline": "Deadline", "recipients": "Recipients", "made_at": "Stated at", "archive": "Archive (SHA-256)", "server": "Stated by", "notes": "What to know",
		"notification": "Notification", "state": "State", "told_at": "Told at", "told_instead": "Told instead", "acknowledged": "Acknowledged", "step": "Step", "round": "round", "at": "Time", "sent_what": "Sent", "skipped": "passed over",
		"told_waiting": "waiting", "told_told": "told", "told_acknowledged": "acknowledged", "told_not_told": "not told", "via_api": "by the API", "via_link": "by its link", "via_card": "by a card's button", "via_mail": "by an answer to the mail", "via_sms": "by a text message", "via_voice": "by a key in the call",
		"said": "What was to be said", "hidden": "The content is sensitive. Its digest:", "hidden_gone": "The content is sensitive and no longer kept.", "salt": "with the salt",
		"delivery": "Delivery", "unconfirmed": "not confirmed by the provider", "provider_ref": "The provider calls it", "attempt": "Attempt", "started": "Started", "ended": "Ended", "result": "Result",
		"receipts": "Receipt", "number": "No.", "event": "Event", "chain": "Hash chain", "link": "Link", "link_hash": "Hash of the link", "link_previous": "Hash of the link before",
		"link_body": "Hash of its list", "line": "Line in the list", "signature": "Signature", "key": "Key", "fingerprint": "Fingerprint of the key", "check": "How to check it without us",
		"check_how":    "In an empty folder with the file proof.json, with jq, OpenSSL 3 and coreutils:",
		"check_1":      "OpenSSL must say: Signature Verified Successfully.",
		"check_2":      "The first sum must be the SHA-256 above; that ties this page to the file.",
		"check_3":      "The second sum must be the fingerprint of the key, and the fingerprint must be the one that you were told by another way, such as your contract, or the public address /v1/proof/keys of the server.",
		"chain_sealed": "What is stored is as the hash chain sealed it.", "chain_changed": "What is stored is NOT as the hash chain sealed it.",
		"chain_not_sealed": "No link of the hash chain has sealed it yet.", "chain_off": "The server makes no hash chain.", "chain_forgotten": "A link has sealed it; what it sealed is no longer kept.",
		"event_accept": "accepted", "event_suppress": "suppressed by a rule", "event_claim": "claimed", "event_start": "attempt started", "event_release": "released", "event_lease_lost": "lease lost",
		"event_quarantine": "quarantined", "event_sent": "sent", "event_retry": "to be tried again", "event_fail": "failed", "event_ambiguous": "outcome unknown", "event_resend": "to be sent again",
		"event_assume_sent": "taken as sent", "event_resolve": "resolved", "event_hold_timeout": "hold ended", "event_evidence": "evidence", "event_receipt": "receipt", "event_cancel": "cancelled",
		"event_cancel_request": "cancel requested", "event_expire": "expired", "event_requeue": "queued again", "event_discard": "discarded", "event_epoch_hold": "held after a restore", "event_move": "moved to another account",
		"event_admit": "its turn came", "event_gather": "its collection", "event_recall": "recall asked for", "event_wake": "quiet hours changed", "check_file": "Save proof.json",
		"skip_condition": "its condition is false", "skip_nobody": "it means nobody", "skip_refused": "its messages cannot be accepted", "skip_no_template": "it has no template", "skip_preference": "not wanted by the recipient", "skip_call": "nobody is called for what is over",
		"ack_sealed": "as the hash chain sealed it", "ack_changed": "NOT as the hash chain sealed it", "ack_not_sealed": "not sealed by the hash chain yet", "ack_off": "the server makes no hash chain", "ack_forgotten": "what the hash chain sealed is no longer kept",
	}
}

func chineseWords() map[string]string {
	return map[string]string{
		"title": "消息送达证明", "lead": "本页展示一份经过签名的声明。被签名的内容在 proof.json 文件里：本页供阅读，下方的签名针对该文件中的 statement。",
		"message": "消息", "tenant": "租户", "person": "仅涉及此收件人", "others": "其他人数（不具名）", "another": "另一位收件人", "masked": "完整文本的 SHA-256", "route": "路由", "channel": "渠道", "kind": "类型", "ref": "业务号", "source": "发送系统",
		"accepted": "受理时间", "deadline": "截止时间", "recipients": "收件人数", "made_at": "出具时间", "server": "出具方", "notes": "须知",
		"notification": "通知", "state": "状态", "told_at": "告知时间", "told_instead": "转告对象", "acknowledged": "已确认", "step": "步骤", "round": "轮次", "at": "时间", "sent_what": "发送情况", "sent": "已发送", "skipped": "跳过",
		"told_waiting": "等待中", "told_told": "已告知", "told_acknowledged": "已确认", "told_not_told": "未告知", "via_api": "经 API", "via_link": "经确认链接", "via_card": "经卡片按钮", "via_mail": "经邮件回复", "via_sms": "经短信回复", "via_voice": "经通话按键",
		"said": "消息内容", "hidden": "内容敏感，不予显示。其摘要：", "hidden_gone": "内容敏感，且已不再保存。", "salt": "盐值",
		"delivery": "投递", "unconfirmed": "平台未确认", "provider_ref": "平台编号", "attempt": "尝试", "started": "开始", "ended": "结束", "result": "结果",
		"receipts": "回执", "number": "序号", "event": "事件", "chain": "哈希链", "link": "链环", "link_hash": "链环哈希", "link_previous": "上一链环哈希",
		"link_body": "清单哈希", "line": "清单中的行", "signature": "签名", "key": "密钥", "fingerprint": "密钥指纹", "check": "如何自行核验",
		"check_how":    "在只有 proof.json 的空文件夹里执行（需要 jq、OpenSSL 3 和 coreutils）：",
		"check_1":      "OpenSSL 应显示：Signature Verified Successfully。",
		"check_2":      "第一个校验和应与上面的 SHA-256 相同，这样本页才与该文件对应。",
		"check_3":      "第二个校验和应与密钥指纹相同，且该指纹应与您从其他途径得知的一致，例如合同，或服务器的公开地址 /v1/proof/keys。",
		"chain_sealed": "现存数据与哈希链封存时一致。", "chain_changed": "现存数据与哈希链封存时不一致！",
		"chain_not_sealed": "哈希链尚未封存这条消息。", "chain_off": "服务器未启用哈希链。", "chain_forgotten": "哈希链曾封存这条消息，但封存清单已不再保存。",
		"pending": "待发送", "sending": "发送中", "unknown": "结果不明", "quarantined": "已隔离", "delivered": "已送达", "undelivered": "未送达", "failed": "失败", "cancelled": "已取消", "expired": "已过期", "suppressed": "已拦截",
		"event_accept": "受理", "event_suppress": "被规则拦截", "event_claim": "领取", "event_start": "开始发送", "event_release": "释放", "event_lease_lost": "租约丢失",
		"event_quarantine": "隔离", "event_sent": "已发送", "event_retry": "待重试", "event_fail": "失败", "event_ambiguous": "结果不明", "event_resend": "待重发",
		"event_assume_sent": "视为已发送", "event_resolve": "人工确认", "event_hold_timeout": "保留到期", "event_evidence": "佐证", "event_receipt": "回执", "event_cancel": "取消",
		"event_cancel_request": "请求取消", "event_expire": "过期", "event_requeue": "重新排队", "event_discard": "丢弃", "event_epoch_hold": "恢复后暂扣", "event_move": "换账号",
		"event_admit": "轮到发送", "event_gather": "并入汇总", "event_recall": "请求平台撤回", "event_wake": "免打扰时段有变", "check_file": "保存 proof.json",
		"skip_condition": "条件不成立", "skip_nobody": "没有可通知的人", "skip_refused": "消息无法受理", "skip_no_template": "没有可用的模板", "skip_preference": "收件人不接收", "skip_call": "恢复时不打电话",
		"ack_sealed": "现存确认与哈希链封存时一致", "ack_changed": "现存确认与哈希链封存时不一致！", "ack_not_sealed": "哈希链尚未封存此确认", "ack_off": "服务器未启用哈希链", "ack_forgotten": "封存清单已不再保存",
		"note_content_hidden":    "消息内容敏感，以摘要代替。持有盐值和原文的人可以比对。",
		"note_content_gone":      "消息内容敏感，且已不再保存，因此没有摘要。",
		"note_deliveries_gone":   "部分投递未列出：已因超过保存期删除，或该密钥无权查看。",
		"note_still_open":        "出具时仍有投递或通知未结束，之后可能还会变化。",
		"note_chain_off":         "服务器未启用哈希链：所述内容为出具时数据库中的记录。",
		"note_not_sealed":        "哈希链尚未封存这些记录：所述内容为出具时数据库中的记录。",
		"note_behind_seal":       "最近一次封存之后又有新事件：已列出，但尚未封存。",
		"note_chain_changed":     "现存数据与封存时不一致，差异见下文：有人绕过程序改动了数据。",
		"note_chain_forgotten":   "哈希链曾封存这些记录，但封存清单已超过保存期，无法再比对。",
		"note_link_body":         "链环封存的清单含有其他人的消息，因此不附上；该行在清单中，是服务器的陈述。可在数据库上用 posthouse verify 核验。",
		"note_ack_not_chained":   "有确认不在现存的哈希链清单中，仅由本签名覆盖。",
		"note_ack_chain_alone":   "通知中由哈希链封存的是谁在何时以何种方式确认；是否已告知，由同样封存的投递记录得出。",
		"note_person_only":       "本声明只涉及一位收件人。",
		"note_others_unnamed":    "通知还涉及其他人：本声明只写人数，不写姓名。",
		"note_links_masked":      "收件人凭以操作的链接和按钮密钥以 *** 代替，否则看到的人就能代其操作。声明的 masked 中有所发完整文本的 SHA-256。",
		"note_chain_masked":      "哈希链所封存的文本中含有此类链接的，不附上。可在数据库上用 posthouse verify 比对。",
		"note_history_shortened": "某个投递的记录过多，一份声明放不下。",
		"note_from_archive":      "所述内容取自归档文件，其签名有效（见“归档文件”）；数据库中可能已不再保存。",
		"note_archive_bounds":    "归档文件不含敏感内容；通知以归档时的状态为准，早期版本的归档文件不含通知。之后的变化未作说明。",
		"note_archive_unsealed":  "现存的哈希链没有封存过这些记录：所述内容以归档文件为准。",
		"archive":                "归档文件（SHA-256）",
	}
}

// Note is a note of a statement in English and in Chinese: in English as the statement has it.
func Note(n wire.ProofNote) (english, chinese string) {
	return n.Text, cmp.Or(chineseWords()["note_"+n.Code], n.Text)
}
