package catalog

// refusals are those of accounts that say the class of the result and the provider's code, as lists of channels do.
func refusals() (list []Sentence) {
	for _, of := range []Sentence{
		{"the provider refuses %s: ", "平台拒绝{1!}："}, {"this server does not let %s send: ", "本服务不允许用{1!}发送："}, {"this process sends nothing for the moment for %s: ", "本进程暂时不用{1!}发送："},
	} {
		for _, class := range classes() {
			list = append(list, Sentence{of.English + class.English + " %s", of.Chinese + class.Chinese + " {2}"})
		}
	}
	return list
}

// waits are what holds a delivery, as explain says it.
func waits() []Sentence {
	return append(append(calls(), refusals()...), []Sentence{
		{"%d calls are under way, and the provider bears no more at once", "已有 {1} 个调用在进行，平台同时只能承受这么多"},
		{"all %d slots of each account that may send it are in use in this process", "可用账号在本进程的 {1} 个并发位都已占用"},
		{"all %d slots of the channel are in use in this process", "渠道在本进程的 {1} 个并发位都已占用"},
		{"all %d slots of this process are in use", "本进程的 {1} 个并发位都已占用"},
		{"its account %s was removed: set one of its name up again, let the channel fail over, or cancel it", "指定的账号 {1} 已删除：请重新建立同名账号，让渠道故障转移，或撤销此投递"},
		{"no account is in its pool %s any more: put one into it, or cancel it", "账号池 {1} 中已没有账号：请加入一个账号，或撤销此投递"},
		{"one attempt is under way to find out whether the database takes results again", "正在用一次尝试确认数据库能否重新写入结果"},
		{"the account %s cannot be opened: %v", "账号 {1} 无法打开：{2!}"},
		{"the account %s is paused: %s", "账号 {1} 已暂停：{2!}"},
		{"the account %s is paused", "账号 {1} 已暂停"},
		{"the account is paused: %s", "账号已暂停：{1!}"},
		{"the account is paused", "账号已暂停"},
		{"the channel %s is paused: %s", "渠道 {1} 已暂停：{2!}"},
		{"the channel %s is paused", "渠道 {1} 已暂停"},
		{"the channel %s has no account", "渠道 {1} 没有账号"},
		{"the channel %s is not open here", "渠道 {1} 在本进程没有打开"},
		{"none of %d accounts may send; the first that may again is %s, and %s", "{1} 个账号都不能发送；最先恢复的是 {2}：{3!}"},
		{"the database was restored or upgraded under this process", "数据库在本进程运行期间被恢复或升级"},
		{"the database takes no results", "数据库暂时无法写入结果"},
		{"somebody resumes it", "等待人工恢复"},
		{"the channel has no account yet", "渠道还没有账号"},
		{"the database was restored or upgraded under this process: restart it", "数据库在本进程运行期间被恢复或升级，请重启本进程"},
		{"the window of %d in %s of its %s is full", "{3!}的限流窗口已满：每 {2} 最多 {1} 条"},
		{"there is no roster %.80q: Monday to Friday are the workdays until there is one", "没有值班表 {1}：有之前以周一至周五为工作日"},
		{"means nobody now: the step is passed over, as long as that is so", "目前没有对应的人：在此期间跳过这一步"},
		{"mean nobody now: a message that follows the route tells nobody", "目前都没有对应的人：走此路由的消息谁也通知不到"},
		{"is delivered, and no channel of the step is ever told that: the next step begins after within for everybody. Want sent, or a channel with receipts", "是 delivered，但这一步的渠道都收不到送达回执：过了 within，每个人都会进入下一步。应改为 sent，或换用有回执的渠道"},
		{"is acknowledged, and nobody can do that by what the steps send. Want ${ack_url} in a template, ${ack_key} in the button of its card, or a channel that takes answers; else the API, the command and the console alone acknowledge", "要求 acknowledged，但各步骤发出的内容都无法用来确认：请在模板里加上 ${ack_url}，或在模板卡片的按钮里填 ${ack_key}，或使用能接收回复的渠道；否则只能通过 API、命令或控制台确认"},
		{"there is no channel %.80q: nothing is sent by it, as long as that is so", "没有渠道 {1}：在此期间不会通过它发送"},
		{"%s: the step is taken", "{1!}，照常执行这一步"},
		{"is never true: hour is 0 to 23, weekday 1 to 7 and priority high, normal or low, such as hour >= 22 or hour < 7. The step never begins", "永远不成立：hour 为 0 至 23，weekday 为 1 至 7，priority 为 high、normal 或 low，例如 hour >= 22 or hour < 7。这一步不会开始"},
		{"is an empty list, which names none: leave it out where all are meant, or name them, such as %s", "是空列表，没有列出任何一个：表示全部时请不要填写，否则请逐一列出，例如 {1}"},
		{"is an empty list, which names nobody: leave it out for the message's recipients, or say whom, such as [{\"roster\": \"night\"}]", "是空列表，没有收件人：要发给消息的收件人时请不要填写，否则请写明发给谁，例如 [{\"roster\": \"night\"}]"},
		{"there is no template %.80q: the step sends nothing until there is one", "没有模板 {1}：建好之前这一步什么也发不出"},
		{"there is no template %.80q: the step sends nothing by %s until there is one", "没有模板 {1}：建好之前这一步不经 {2} 发送"},
		{"the template %.80q is disabled: the step sends nothing until it is enabled", "模板 {1} 已停用：启用之前这一步什么也发不出"},
		{"the template %.80q is disabled: the step sends nothing by %s until it is enabled", "模板 {1} 已停用：启用之前这一步不经 {2} 发送"},
		{"send nothing now: a message that follows the route is refused until one of them has its template", "目前什么也发不出：至少有一步的模板可用之前，按此路由发送的消息会被拒绝"},
		{"the template %.80q of channel %s is not there", "渠道 {2} 所用的模板 {1} 不存在"},
		{"the template %.80q of channel %s is disabled", "渠道 {2} 所用的模板 {1} 已停用"},
		{"compares time_zone with %.60q, which no person can have: want an IANA time zone, such as time_zone == \"Asia/Shanghai\"", "拿 time_zone 与 {1} 比较，但不会有人是这个时区；应为 IANA 时区，例如 time_zone == \"Asia/Shanghai\""},
		{"compares language with %.60q, which no person can have: want the tag of a language as the directory keeps it, such as language == %q", "拿 language 与 {1} 比较，但不会有人是这个语言；应为用户资料中保存的语言标签，例如 language == {2}"},
		{"compares priority with %.60q, which no message can have: want high, normal or low, such as priority == \"high\"", "拿 priority 与 {1} 比较，但没有这个优先级；应为 high、normal 或 low，例如 priority == \"high\""},
		{"compares %s with %.60q, which nothing can have: want one line of at most %d bytes, such as kind == \"alert\"", "拿 {1} 与 {2} 比较，但不可能有这样的值；应为一行，最多 {3} 字节，例如 kind == \"alert\""},
		{"asks for %.60q, which no message has: want %s, such as priority == \"high\"", "用到了 {1}，消息没有这一项；可用的有 {2}，例如 priority == \"high\""},
		{"the budget of its %s is spent: %d a %s", "{1!}的预算已用完：每{3!} {2} 条"},
		{"the budget of its %s is spent: of %d a %s, the last %d are for high priority", "{1!}的预算已用完：每{3!} {2} 条，其中最后 {4} 条只发高优先级"},
		{"%s has spent its budget", "{1!} 的预算已用完"},
		{"its recipient has got all that a cap allows for now", "收件人已达到频次上限，暂不再发"},
		{"the windows of its %s are full", "{1!}的限流窗口已满"},
		{"%s a second of priority %s may begin, and %s that are due stand before it", "优先级 {2!} 每秒可开始 {1} 条，前面还有 {3!} 条到期的"},
		{"%s or more", "至少 {1}"},
		{"this process sends nothing for the moment (%s): %s", "本进程暂时无法发送（{1}）：{2!}"},
		{"this server does not let %s send (%s %s): %s", "本服务不允许用{1!}发送（{2!} {3}）：{4!}"},
		{"this process sends nothing for the moment for %s (%s %s): %s", "本进程暂时不用{1!}发送（{2!} {3}）：{4!}"},
		{"the provider refuses %s (%s %s): %s", "平台拒绝{1!}（{2!} {3}）：{4!}"},
		{"this server does not let %s send", "本服务不允许用{1!}发送"},
		{"this process sends nothing for the moment for %s", "本进程暂时不用{1!}发送"},
		{"the provider refuses %s", "平台拒绝{1!}"},
		{"this server does not let %s send: %s", "本服务不允许用{1!}发送：{2!}"},
		{"this process sends nothing for the moment for %s: %s", "本进程暂时不用{1!}发送：{2!}"},
		{"the provider refuses %s: %s", "平台拒绝{1!}：{2!}"},
		{"url: %s is an address that this server does not call: nothing goes there until it runs with --allow-networks %s (the setting allow_networks)", "地址：本服务不允许访问 {1}，以 --allow-networks {2}（设置 allow_networks）启动后才会推送"},
		{"%s is refused by the provider: %s", "平台拒绝{1!}：{2!}"},
		{"%s has used up its limits", "{1!} 的限流窗口已用完"},
		{"its account may make %g calls a second: base %g × health %f × success %f × load %f × time %f (%s since %s)", "账号当前每秒可调用 {1} 次：基准 {2} × 健康 {3} × 成功率 {4} × 负载 {5} × 时段 {6}（{7!}，自 {8}）"},
		{"%s sends every %s", "任务 {1} 每 {2} 发送一轮"},
		{"the channel is paused: %s", "渠道已暂停：{1!}"},
		{"the channel is paused, and goes on by itself", "渠道已暂停，到时自动恢复"},
		{"the channel is paused until somebody resumes it", "渠道已暂停，等待人工恢复"},
		{"without a report by then another agent is handed it, or its outcome is unknown", "到时仍没有汇报，就转交其他发送端，或记为未知"},
		{"without a result by then its outcome is unknown", "到时仍没有结果，就记为未知"},
		{"a person lets it go on or discards it (resolve)", "等人工放行或丢弃"},
		{"a receipt or a person decides (resolve)", "等回执，或人工确认"},
		{"the provider is asked", "将向平台查询结果"},
		{"it counts as failed then", "到时记为失败"},
		{"its recipient has quiet hours", "收件人处于免打扰时段"},
		{"not_before has not come", "还没到定时发送的时间"},
		{"the next try after 1 failure: %s", "已失败 1 次，等待下一次重试：{1!}"},
		{"the next try after %d failures: %s", "已失败 {1} 次，等待下一次重试：{2!}"},
		{"a rule puts it off: %s", "规则要求推迟：{1!}"},
		{"its channel is not open in this process; /readyz says why", "本进程没有打开该渠道，原因见系统页"},
		{"it waits for those before it with the same ordering_key; the database does not say now which these are", "等待同一顺序键的前面几条；数据库此刻无法给出是哪几条"},
		{"it waits for its turn among those with the same ordering_key", "等待同一顺序键的其他消息，轮到它时发送"},
		{"the link is not what it was", "链环与当初封存的不一致"}, {"the link seals a range in which the message was not", "该链环封存的范围内没有这条消息"}, {"its line cannot be read", "清单中的行无法读取"},
		{"the message was sealed and is not there", "消息曾封存，现已不存在"}, {"the message's row is not what was sealed", "消息的记录与封存时不一致"}, {"delivery %s was sealed and is not there", "投递 {1} 曾封存，现已不存在"},
		{"delivery %s had %d events when it was sealed and has %d", "投递 {1} 封存时有 {2} 个事件，现有 {3} 个"}, {"delivery %s, or one of its first %d events, is not what was sealed", "投递 {1} 或其前 {2} 个事件与封存时不一致"},
		{"the row of delivery %s is not what was sealed, and no event has followed", "投递 {1} 的记录与封存时不一致，且之后没有新事件"},
		{"the message %s, which has the same ordering_key, is not settled yet", "同一顺序键的消息 {1} 尚未结束"},
	}...)
}

// words are arguments that are words of ours.
func words() []Sentence {
	return append(classes(), []Sentence{
		{"channel", "渠道"}, {"account", "账号"}, {"recipient", "收件人"}, {"cap", "频次上限"}, {"day", "日"}, {"month", "月"}, {"minute", "分钟"}, {"hour", "小时"}, {"day of the month", "日"}, {"day of the week", "星期"}, {"tenant", "租户"}, {"template", "模板"}, {"type", "类型"},
		{"the address is not one this server may connect to", "不允许访问该地址"}, {"%s: the address is not one this server may connect to", "{1!}：不允许访问该地址"},
		{"flag", "选项"}, {"the channel %s", "渠道 {1}"}, {"all channels", "所有渠道"}, {"command", "命令"}, {"query parameter", "查询参数"},
		{"the digest %s", "汇总 {1}"}, {"the route %s", "路由 {1}"}, {"the front %s", "接入端 {1}"}, {"the reminder %s", "提醒 {1}"}, {"account %s", "账号 {1}"}, {"the account", "账号"}, {"the account %s", "账号 {1}"},
		{"high", "高"}, {"normal", "普通"}, {"low", "低"},
		{"climbs", "上升中"}, {"refused", "平台拒绝：过快"}, {"punished", "平台长时间拒绝"}, {"failing", "平台故障"}, {"slow", "平台响应慢"},
		{"recovers", "恢复中"}, {"probes", "试探提速"}, {"holds", "已达上限"}, {"began", "刚开始"},
	}...)
}

// classes are those of results that stand in sentences.
func classes() []Sentence {
	return []Sentence{
		{"transient", "暂时拒绝"}, {"rate", "超过频率"}, {"auth", "凭证被拒"}, {"local", "本机故障"}, {"blocked", "不允许访问"},
		{"content", "内容被拒"}, {"request", "请求有误"}, {"unknown", "结果未知"},
	}
}

// codes are reasons of deliveries that are words of sentences too, where they mean less.
func codes() []Sentence {
	return []Sentence{
		{"recipient", "收件人无效"}, {"account", "账号被拒"}, {"template", "模板无法填写"}, {"channel", "渠道出错"},
	}
}

// reasons are why deliveries are in their states.
func reasons() []Sentence {
	return []Sentence{
		{"tries_used_up", "已达最多失败次数"}, {"deadline", "超过截止时间"}, {"deadline_before", "下次重试会超过截止时间"}, {"unknown_timeout", "挂起超时"},
		{"lease_lost", "发送的进程中断"}, {"poison", "多次导致进程中断"}, {"unreadable", "数据无法识别"}, {"driver_panic", "渠道驱动出错"},
		{"window_closed", "超过平台幂等键的有效期"}, {"cancelled", "已撤销"}, {"shutdown", "进程停止"}, {"paused", "渠道已暂停"}, {"replaced", "渠道设置已修改"},
		{"receipt", "平台回执"}, {"callback", "平台回调"}, {"database", "数据库当时无法访问"}, {"apart", "将单独重试"}, {"no_call", "无法与其他消息合并调用"},
		{"limiter", "限流器当时无法访问"}, {"address_suppressed", "地址在禁发名单中"}, {"preference", "收件人不接收此类消息"}, {"preference_channel", "收件人不用这个渠道接收"}, {"quiet_hours", "免打扰时段"}, {"capped", "达到频次上限"}, {"limit_type", "类型的限流窗口已满"}, {"limit_recipient", "收件人的限流窗口已满"},
		{"limit_template", "模板的限流窗口已满"}, {"operator_retry", "人工决定再发"}, {"operator_undo", "撤回了批量处理"}, {"recalled", "平台已撤回"}, {"recall_too_late", "已过平台撤回时限"}, {"recall_failed", "平台撤回失败"}, {"recall_unknown", "撤回结果未知"}, {"recall_not_supported", "该渠道不能撤回"}, {"operator_not_sent", "人工确认未送达"},
		{"operator_sent", "人工确认已送达"}, {"given_back", "发送端退回，未发送"}, {"reassigned", "从发送端收回"}, {"no_retry", "发送端表示重试无用"},
		{"caller_left", "调用方已离开"}, {"failover", "换账号"}, {"epoch_hold", "数据库恢复后挂起"}, {"told", "已由其他步骤通知到"}, {"channel_gone", "渠道已删除"},
		{"NETWORK_ERROR", "网络错误"}, {"API_TIMEOUT", "平台超时未应答"}, {"CANCELLED", "调用已放弃"}, {"ADDRESS_BLOCKED", "不允许访问该地址"}, {"BAD_REQUEST", "请求无法发出"},
		{"late_result", "迟到的结果"}, {"step_over", "该步骤时限已过"}, {"escalated", "已转告他人"}, {"resolved", "已恢复"}, {"not_delivered", "时限内没有送达凭据"}, {"not_acknowledged", "时限内无人确认"}, {"nobody", "没有可通知的人"}, {"condition", "条件不成立"}, {"no_template", "没有可用的模板"}, {"forgotten", "内容已清除"},
		{"not_on_duty", "不在班"}, {"duty_schedule_not_configured", "没有排班"}, {"done", "已全部执行"}, {"ended", "已结束"}, {"condition_over", "条件已不成立"},
		{"digest", "随汇总发送"}, {"composed_anew", "重新汇总"},
		{"LOCAL_ERROR", "本机无法建立连接"}, {"NO_NAME_SERVER", "域名服务器没有应答"}, {"no_answer", "没有应答"},
	}
}
