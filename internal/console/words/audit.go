package words

// auditWords are the texts of the audit log: what was done, with what, and which of its members changed.
func auditWords() map[string]Word {
	all := map[string]Word{
		"changes_of":    {"Changes", "变更记录"},
		"audit_who":     {"Who: a key, or person:NAME", "操作者：密钥编号，或 person:用户名"},
		"audit_since":   {"From", "从"},
		"audit_until":   {"Before", "早于"},
		"audit_changes": {"What changed", "变更内容"},
		"audit_what":    {"What", "项目"},
		"audit_before":  {"Before", "变更前"},
		"audit_after":   {"After", "变更后"},
		"audit_nothing": {"The log has no more of it.", "没有更多记录。"},
	}
	for name, w := range map[string]Word{
		"channels": {"channel", "渠道"}, "accounts": {"account", "账号"}, "templates": {"template", "模板"}, "routes": {"route", "路由"}, "rosters": {"roster", "值班表"}, "users": {"directory", "通讯录"},
		"campaigns": {"campaign", "群发任务"}, "deliveries": {"delivery", "投递"}, "messages": {"message", "消息"}, "decisions": {"bulk decision", "批量处理"}, "keys": {"key", "密钥"}, "people": {"person", "人员"},
		"agents": {"phone", "发送端"}, "fronts": {"front", "接入端"}, "contents": {"content", "内容"}, "reminders": {"reminder", "提醒"}, "notifications": {"notification", "通知"}, "digests": {"digest", "汇总"}, "collections": {"collection", "一次汇总"}, "suppressions": {"suppression", "禁发名单"},
		"outbox": {"outbox", "发件箱"}, "subscriptions": {"subscription", "事件订阅"}, "tenants": {"tenant", "租户"}, "presets": {"preset", "预设"},
	} {
		all["audit_of_"+name] = w
	}
	for name, w := range map[string]Word{ // what stands for the thing is …; without it, the thing is last
		"put": {"Stored", "保存"}, "create": {"Made", "新建"}, "delete": {"Deleted", "删除"}, "pause": {"Paused", "暂停"}, "resume": {"Resumed", "恢复"}, "test": {"Tested", "测试"}, "change": {"Changed", "修改"},
		"start": {"Started", "启动"}, "cancel": {"Cancelled", "取消"}, "resolve": {"Resolved", "人工确认"}, "replay": {"Sent again", "重发"}, "recall": {"Recalled", "撤回"}, "undo": {"Undid", "撤销"}, "stop": {"Stopped", "停止"}, "reveal": {"Revealed", "查看"},
		"rotate": {"Rotated", "轮换"}, "link": {"Made a link for", "为…生成登录链接"}, "reset-totp": {"Turned one-time codes off for", "重置…的动态验证码"}, "sign-out": {"Ended the sessions of", "退出…的会话"}, "key": {"Made a key for", "为…新建密钥"}, "revoke": {"Revoked", "吊销"}, "sign-in": {"Signed in", "…登录"}, "members": {"Put people into", "为…导入成员"}, "repair": {"Repaired", "补发"}, "unschedule": {"Unscheduled", "取消定时"}, "import": {"Imported", "导入"},
		"drain": {"Drained", "排空"}, "reassign": {"Took back from", "收回"}, "ack": {"Acknowledged", "确认"}, "end": {"Ended", "结束"},
	} {
		all["audit_do_"+name] = w
	}
	for name, w := range map[string]Word{
		"limits": {"limits", "限流"}, "account_limits": {"limits of accounts", "账号限流"}, "recipient_limits": {"limits of recipients", "收件人限流"}, "tries": {"tries", "最多失败次数"}, "on_unknown": {"if unknown", "结果未知时"},
		"profile": {"profile", "预设参数"}, "paused": {"paused", "已暂停"}, "pause_reason": {"reason of the pause", "暂停原因"}, "paused_until": {"paused until", "暂停到"}, "weight": {"weight", "权重"}, "pools": {"pools", "账号池"},
		"base_rate": {"base rate", "基准速率"}, "text": {"text", "正文"}, "days": {"days", "值班安排"}, "steps": {"steps", "步骤"}, "rules": {"rules", "规则"}, "driver": {"driver", "渠道驱动"}, "name": {"name", "名称"}, "title": {"title", "标题"},
		"batch": {"batch", "批量"}, "timeout": {"time-out", "超时"}, "max_inflight": {"calls at once", "并发上限"}, "every": {"period", "发送间隔"}, "accounts": {"several accounts", "多账号"},
		"budget": {"budget", "预算"}, "account_budget": {"budget of each account", "账号预算"}, "off": {"not wanted", "不接收"}, "nothing": {"no messages at all", "全部不接收"}, "prefer": {"order of channels", "渠道顺序"}, "by": {"chosen by", "设置途径"},
		"time_zone": {"time zone", "时区"}, "language": {"language", "语言"}, "manager": {"manager", "上级"},
		"channel": {"channel", "渠道"}, "channels": {"channels", "渠道"}, "kind": {"kind", "类型"}, "id": {"id", "编号"}, "url": {"URL", "网址"}, "content.text": {"text", "正文"}, "content.title": {"title", "标题"}, "template": {"template", "模板"},
		"cron": {"cron", "时间表"}, "window": {"window", "时间窗"}, "to": {"recipients", "收件人"}, "for": {"told", "通知范围"}, "scope": {"scope", "权限"}, "roles": {"roles", "角色"}, "addresses": {"addresses", "地址"},
	} {
		all["audit_member_"+name] = w
	}
	return all
}
