package words

// auditWords are the texts of the audit log: what was done, with what, and which of its members changed.
func auditWords() map[string]Word {
	all := map[string]Word{
		"changes_of":    {"Changes", "变更记录"},
		"audit_who":     {"Who", "操作者"},
		"audit_whom":    {"person or key", "人员或密钥"},
		"audit_since":   {"From", "从"},
		"audit_until":   {"Before", "早于"},
		"audit_changes": {"What changed", "变更内容"},
		"audit_what":    {"What", "项目"},
		"audit_before":  {"Before", "变更前"},
		"audit_after":   {"After", "变更后"},
		"audit_nothing": {"It changed no values: the log has only that it was done.", "此操作不涉及字段变更，日志只记录了操作本身。"},
	}
	for name, w := range map[string]Word{
		"channels": {"channel", "渠道"}, "accounts": {"account", "账号"}, "templates": {"template", "模板"}, "routes": {"route", "路由"}, "rosters": {"roster", "值班表"}, "users": {"directory", "通讯录"},
		"campaigns": {"campaign", "群发任务"}, "deliveries": {"delivery", "投递"}, "messages": {"message", "消息"}, "decisions": {"bulk decision", "批量处理"}, "keys": {"key", "密钥"}, "people": {"person", "人员"},
		"agents": {"phone", "发送端"}, "fronts": {"front", "接入端"}, "contents": {"content", "内容"}, "reminders": {"reminder", "提醒"}, "notifications": {"notification", "通知"}, "digests": {"digest", "汇总"}, "collections": {"collection", "一次汇总"}, "suppressions": {"suppression", "禁发名单"},
		"audiences": {"list", "名单"}, "doctor": {"examination", "检查"}, "jobs": {"job", "任务"}, "media": {"file", "文件"}, "workflow": {"workflow", "流程"}, "outbox": {"outbox", "发件箱"}, "subscriptions": {"subscription", "事件订阅"}, "tenants": {"tenant", "租户"}, "presets": {"preset", "预设"}, "proofs": {"proof", "送达证明"},
		"sms_templates": {"SMS template", "短信模板"}, "sms_defaults": {"SMS defaults", "短信默认设置"}, "sms": {"SMS task", "短信任务"},
	} {
		all["audit_of_"+name] = w
	}
	for name, w := range map[string]Word{ // what stands for the thing is …; without it, the thing is last
		"put": {"Stored", "保存"}, "create": {"Made", "新建"}, "delete": {"Deleted", "删除"}, "pause": {"Paused", "暂停"}, "resume": {"Resumed", "恢复"}, "test": {"Tested", "测试"}, "change": {"Changed", "修改"},
		"start": {"Started", "启动"}, "cancel": {"Cancelled", "取消"}, "resolve": {"Resolved", "人工确认"}, "replay": {"Sent again", "重发"}, "recall": {"Recalled", "撤回"}, "undo": {"Undid", "撤销"}, "stop": {"Stopped", "停止"}, "reveal": {"Revealed", "查看"},
		"rotate": {"Rotated", "轮换"}, "link": {"Made a link for", "为…生成登录链接"}, "reset-totp": {"Turned one-time codes off for", "重置…的动态验证码"}, "sign-out": {"Ended the sessions of", "退出…的会话"}, "key": {"Made a key for", "为…新建密钥"}, "revoke": {"Revoked", "吊销"}, "sign-in": {"Signed in", "…登录"}, "password": {"Set the password of", "设置…的密码"}, "totp": {"Set up one-time codes of", "开启…的动态验证码"}, "totp-off": {"Turned off one-time codes of", "关闭…的动态验证码"}, "totp-spare": {"Made recovery codes of", "为…生成恢复码"}, "totp-wrong": {"Refused a wrong one-time code of", "…输错动态验证码"}, "members": {"Put people into", "为…导入成员"}, "repair": {"Repaired", "补发"}, "unschedule": {"Unscheduled", "取消定时"}, "import": {"Imported", "导入"},
		"drain": {"Drained", "排空"}, "reassign": {"Took back from", "收回"}, "ack": {"Acknowledged", "确认"}, "end": {"Ended", "结束"},
		"followers": {"Put followers into", "为…导入关注者"}, "query": {"Put people by a query into", "按查询为…导入成员"}, "again": {"Made the next of", "再次发送"}, "clone": {"Copied", "复制"}, "callbacks": {"Made a callback address for", "为…新建回调地址"}, "leave": {"Had leave now", "立即发出"},
		"run": {"Ran", "运行"}, "token": {"Made a token for", "为…新建令牌"}, "status": {"Set the state of", "设置…的状态"}, "fetch": {"Fetched", "下载"}, "retry": {"Tried again", "重试"}, "override": {"Changed a day of", "调整"}, "revoke-links": {"Revoked the links of", "吊销…的链接"},
		"keys": {"Made a key for", "为…新建密钥"}, "defaults": {"Installed the templates of", "安装…的默认模板"}, "quota": {"Set the quota of", "设置…的配额"}, "read": {"Read", "查看"}, "new_epoch": {"Began a new epoch of", "开始…的新纪元"},
	} {
		all["audit_do_"+name] = w
	}
	for name, w := range map[string]Word{
		"limits": {"limits", "限流"}, "account_limits": {"limits of accounts", "账号限流"}, "recipient_limits": {"limits of recipients", "收件人限流"}, "tries": {"tries", "最多失败次数"}, "on_unknown": {"if unknown", "结果未知时"},
		"profile": {"profile", "预设参数"}, "paused": {"paused", "已暂停"}, "pause_reason": {"reason of the pause", "暂停原因"}, "paused_until": {"paused until", "暂停到"}, "weight": {"weight", "权重"}, "pools": {"pools", "账号池"},
		"base_rate": {"base rate", "基准速率"}, "text": {"text", "正文"}, "days": {"days", "值班安排"}, "steps": {"steps", "步骤"}, "rules": {"rules", "规则"}, "driver": {"driver", "渠道驱动"}, "name": {"name", "名称"}, "title": {"title", "标题"},
		"batch": {"batch", "批量"}, "timeout": {"time-out", "超时"}, "max_inflight": {"calls at once", "并发上限"}, "every": {"period", "发送间隔"}, "accounts": {"several accounts", "多账号"},
		"budget": {"budget", "预算"}, "account_budget": {"budget of each account", "账号预算"}, "off": {"not wanted", "不接收"}, "nothing": {"no messages at all", "全部不接收"}, "prefer": {"order of channels", "渠道顺序"}, "by": {"chosen by", "设置途径"},
		"tenant": {"tenant", "租户"}, "state": {"state", "状态"}, "config": {"configuration", "配置"}, "type": {"type", "类型"}, "note": {"note", "备注"}, "extra": {"extra", "专有内容"}, "warnings": {"warnings", "提示"},
		"limit_by": {"limits count", "限流统计对象"}, "template_limits": {"limits of templates", "模板限流"}, "type_limits": {"limits of types", "类型限流"}, "rate": {"rate", "速率"}, "rate.base": {"base rate", "基准速率"}, "rate.hours": {"hours of the rate", "速率时段"},
		"dedup_window": {"window of repeats", "去重时长"}, "probe_after": {"first probe after", "多久后试探"}, "probe_max": {"longest wait for a probe", "试探最长间隔"}, "egress": {"network", "出网"}, "egress.recipient_urls": {"URLs of recipients", "允许收件人网址"}, "egress.hosts": {"hosts", "允许的主机"}, "egress.ports": {"ports", "允许的端口"},
		"failover": {"failover", "故障切换"}, "test_to": {"tests go to", "测试地址"}, "job": {"job", "任务"}, "preset": {"preset", "预设"}, "preset_version": {"version of the preset", "预设版本"}, "backoff": {"waits between tries", "重试间隔"}, "jitter": {"spread of waits", "间隔抖动"}, "expire_end_of_day": {"expires at the end of the day", "当日过期"},
		"codes": {"meaning of codes", "错误码含义"}, "keep_answers": {"answers are kept", "保留应答"}, "channel_max_inflight": {"calls at once of the channel", "整个渠道的并发上限"}, "promise": {"longest wait that is promised", "最长等待承诺"}, "pull": {"agents fetch", "由发送端领取"}, "needs": {"needs", "要求"}, "caps": {"caps", "接收上限"}, "hold_timeout": {"held at most", "最长挂起"},
		"fair_after": {"turns after", "轮流发送阈值"}, "sticky": {"same account", "固定账号"}, "exempt_kinds": {"kinds without limits", "不限流的业务类型"}, "quiet_hours": {"quiet hours", "免打扰时段"},
		"disabled": {"disabled", "已停用"}, "external_id": {"provider's template", "平台模板编号"}, "texts": {"other languages", "其他语言"}, "lenient": {"missing values allowed", "允许缺少变量"}, "variables": {"variables", "变量"}, "parameters": {"parameters", "参数"},
		"quota": {"quota", "配额"}, "quota.requests": {"requests", "请求数上限"}, "quota.open": {"open deliveries", "未结束的投递上限"}, "quota.mention_all": {"messages to everybody, in 24 hours", "24 小时内 @所有人 的上限"}, "mandatory_kinds": {"mandatory kinds", "必达的业务类型"}, "optional_kinds": {"optional kinds", "可关闭的业务类型"},
		"overrides": {"changed days", "临时调整"}, "hand_over": {"hand-over", "交接时间"}, "calendar": {"calendar", "日历"}, "repeat": {"repeats", "重复"}, "user": {"user", "用户"}, "links": {"links", "链接"},
		"route": {"route", "路由"}, "expressions": {"expressions", "表达式"}, "each": {"one message each", "逐条"}, "signed": {"signed", "签名"}, "last_at": {"last call", "最近调用"}, "match": {"matches", "匹配"}, "digest": {"digest", "汇总"}, "message_kind": {"kind of messages", "消息类别"}, "format": {"format", "格式"}, "priorities": {"priorities", "优先级"},
		"max": {"at most", "上限"}, "always": {"always", "总是汇总"}, "line": {"line", "每条的格式"}, "address": {"address", "地址"}, "reason": {"reason", "原因"}, "until": {"until", "截止"}, "actions": {"actions", "允许的操作"}, "agent": {"phone", "发送端"}, "kinds": {"kinds", "业务类型"}, "grants": {"grants", "授权"}, "expires_at": {"ends at", "到期时间"}, "revoked_at": {"revoked at", "吊销时间"}, "last_used_at": {"last used", "最近使用"},
		"spread": {"spread over", "分散发送时长"}, "not_told_within": {"not if told within", "近期已通知则跳过"}, "content": {"content", "内容"}, "content.type": {"type", "内容类型"}, "content.mentions": {"mentions", "提醒对象"}, "content.media": {"file", "文件"}, "content.mention_all": {"calls everybody", "@所有人"}, "content.extra": {"extra", "专有内容"}, "own_text": {"own text", "自有正文"}, "own_text.title": {"title", "标题"}, "own_text.text": {"text", "正文"},
		"canary": {"canary", "试发"}, "canary.members": {"people of the canary", "试发人数"}, "canary.max_failures": {"failures of the canary", "试发允许失败数"}, "brake": {"brake", "熔断"}, "brake.above": {"brake above", "熔断比例"}, "brake.after": {"brake after", "熔断起算数"}, "brake.classes": {"brake counts", "熔断统计的类别"},
		"select": {"selection", "筛选"}, "select.where": {"condition", "筛选条件"}, "select.share": {"share", "按比例"}, "select.share.from": {"share from", "比例起点"}, "select.share.to": {"share to", "比例终点"}, "select.share.seed": {"seed of the share", "比例种子"}, "payload": {"payload", "数据"}, "audience": {"list", "名单"}, "deadline": {"deadline", "截止时间"}, "priority": {"priority", "优先级"}, "segment_size": {"size of segments", "分段大小"}, "person": {"person", "人员"},
		"days.1": {"Monday", "周一"}, "days.2": {"Tuesday", "周二"}, "days.3": {"Wednesday", "周三"}, "days.4": {"Thursday", "周四"}, "days.5": {"Friday", "周五"}, "days.6": {"Saturday", "周六"}, "days.7": {"Sunday", "周日"},
		"time_zone": {"time zone", "时区"}, "language": {"language", "语言"}, "manager": {"manager", "上级"},
		"channel": {"channel", "渠道"}, "channels": {"channels", "渠道"}, "kind": {"kind", "类型"}, "id": {"id", "编号"}, "url": {"URL", "网址"}, "content.text": {"text", "正文"}, "content.title": {"title", "标题"}, "template": {"template", "模板"},
		"description": {"remark", "备注"}, "refs": {"refs", "业务主键"}, "states": {"states", "投递状态"}, "types": {"types of events", "事件类型"}, "lag": {"lag", "落后时长"}, "failures": {"failures in a row", "连续失败次数"}, "next_try_at": {"tried again at", "下次重试"}, "last_error": {"last error", "最近错误"}, "last_told_at": {"last told", "最近推送"}, "told": {"told", "已推送"}, "dead": {"not taken", "未能推送"},
		"key": {"key", "密钥编号"}, "capabilities": {"capabilities", "能力"}, "app": {"app", "程序"}, "last_seen_at": {"last seen", "最近在线"}, "seen_at": {"last seen", "最近在线"}, "password": {"password", "密码"}, "totp": {"one-time codes", "动态验证码"}, "subject": {"account at the identity provider", "统一登录账号"},
		"draft": {"message", "消息"}, "campaign": {"campaign", "群发任务"}, "countdown": {"countdown", "倒计时"}, "missed": {"if missed", "错过时点时"}, "task_id": {"task", "任务编号"}, "node_id": {"node", "节点编号"}, "mention_all": {"calls everybody", "@所有人"}, "preparing": {"being made", "准备中"}, "epoch": {"epoch", "纪元"}, "next_at": {"next", "下一次"}, "slots": {"moments", "时点"}, "fired": {"moments that came", "已到时点"}, "last_message": {"last message", "最近一条消息"}, "last_slots": {"last moments", "最近的时点"},
		"cron": {"cron", "时间表"}, "window": {"window", "时间窗"}, "to": {"recipients", "收件人"}, "for": {"told", "通知范围"}, "scope": {"scope", "权限"}, "roles": {"roles", "角色"}, "addresses": {"addresses", "地址"},
	} {
		all["audit_member_"+name] = w
	}
	for name, w := range map[string]Word{ // of keys that the server names, and of changes that no request asked for
		"given at start": {"given at start", "启动时提供"}, "the shared pair": {"the shared pair", "共用账号"},
	} {
		all["key_named_"+name] = w
	}
	for name, w := range map[string]Word{"start": {"at start", "启动时"}, "program": {"the program", "程序"}} {
		all["audit_from_"+name] = w
	}
	return all
}
