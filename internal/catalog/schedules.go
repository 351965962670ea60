package catalog

// schedules are what is wrong with schedules.
func schedules() []Sentence {
	return []Sentence{
		{"%s has no people: import some, or name an audience or a query", "{1} 没有受众；请先导入，或指定名单或查询"},
		{"%s is %s: want one that is never started, such as a clone of it", "{1} 的状态为 {2}；应为从不启动的群发任务，例如它的复制"},
		{"campaign.query: the key's scope is %s, and a query of another program's database takes admin", "campaign.query：密钥的权限为 {1}，查询外部数据库需要 admin"},
		{"campaign: the key is narrowed to some channels or kinds, and a schedule that starts campaigns takes one that is not", "campaign：密钥限定了渠道或业务类型，启动群发任务的定时需要不受限的密钥"},
		{"has %d bytes: at most %d are allowed for a schedule of campaigns, whose names begin with it", "长 {1} 字节；启动群发任务的定时最多 {2} 字节，因为群发任务以它开头命名"},
		{"has the field %.60q, which is none of cron: want five fields, %s", "含有字段 {1}，不符合 cron 的写法；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"has %.60q for the %s: a step of %s goes beyond its %d values, and the first alone would count; want a step of at most %d, such as \"*/15 * * * *\", each 15 minutes", "{2!}字段为 {1}：步长 {3} 超过了它的 {4} 个取值，只有第一个会生效；步长最大为 {5}，例如 \"*/15 * * * *\"，即每 15 分钟"},
		{"is %.60q: want an IANA zone such as Asia/Shanghai", "为 {1}，应为 IANA 时区，例如 Asia/Shanghai"},
		{"is %.80q, which is no cron expression: want five fields, %s", "为 {1}，不是 cron 表达式；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %.80q: the names of its campaigns begin with it, and /, \\, ?, # and %% are not allowed in these; want one such as weekly-bill", "为 {1}；群发任务以它开头命名，不能含 /、\\、?、# 和 %，例如 weekly-bill"},
		{"is %.80q, which never comes: no date has this day and month; want five fields, %s", "为 {1}，永远不会到来：没有哪一天是这个月的这一日；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %.80q: want five fields, minute, hour, day of the month, month and day of the week, %s", "为 {1}，应为五个字段：分、时、日、月、星期，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %s: want at least %s where each slot starts a campaign", "为 {1}；每个时点启动群发任务时至少为 {2}"},
		{"is %s: want at least %s, such as 8h", "为 {1}，至少为 {2}，例如 8h"},
		{"is required: the campaign that each is like, such as weekly-bill", "必填：要照样启动的群发任务，例如 weekly-bill"},
		{"stands beside a campaign, which has its own texts and people: it has a kind and a ref alone, such as {\"kind\": \"bill\"}", "与群发任务同时出现，群发任务有自己的内容和受众；此处只能有 kind 和 ref，例如 {\"kind\": \"bill\"}"},
		{"stands beside an audience: give one of them", "与名单同时出现，只能填一个"},
		{"the campaign %s was not made by this schedule: give it another name", "群发任务 {1} 不是此定时创建的，请改名"},
		{"the reminder %.80q has ended: nothing more comes of it", "提醒 {1} 已结束，之后不再提醒"},
		{"the reminder cannot be accepted", "提醒无法受理"},
		{"this server starts no campaigns", "此服务不启动群发任务"},
		{"the reminder is %s now", "提醒当前为 {1}"},
		{"the phone is %s now", "发送端当前为 {1}"},
		{"the delivery is %s now", "投递当前为 {1}"},
		{"the account was paused anew since this page was opened: %s", "打开本页之后，账号又被暂停：{1!}"},
		{"the channel was paused anew since this page was opened: %s", "打开本页之后，渠道又被暂停：{1!}"},
		{"the subscription is %s now", "订阅当前为 {1}"},
	}
}
