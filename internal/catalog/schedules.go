package catalog

// schedules are what is wrong with schedules.
func schedules() []Sentence {
	return []Sentence{
		{"has the field %.60q, which is none of cron: want five fields, %s", "含有字段 {1}，不符合 cron 的写法；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %.60q: want an IANA zone such as Asia/Shanghai", "为 {1}，应为 IANA 时区，例如 Asia/Shanghai"},
		{"is %.80q, which is no cron expression: want five fields, %s", "为 {1}，不是 cron 表达式；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %.80q, which never comes: no date has this day and month; want five fields, %s", "为 {1}，永远不会到来：没有哪一天是这个月的这一日；应为五个字段，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"is %.80q: want five fields, minute, hour, day of the month, month and day of the week, %s", "为 {1}，应为五个字段：分、时、日、月、星期，例如 \"0 9 * * 1-5\"，即周一至周五 09:00"},
		{"the reminder %.80q has ended: nothing more comes of it", "提醒 {1} 已结束，之后不再提醒"},
		{"the reminder cannot be accepted", "提醒无法受理"},
		{"the reminder is %s now", "提醒当前为 {1}"},
		{"the phone is %s now", "发送端当前为 {1}"},
		{"the delivery is %s now", "投递当前为 {1}"},
		{"the subscription is %s now", "订阅当前为 {1}"},
	}
}
