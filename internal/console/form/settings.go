package form

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/wire"
)

// setting is what an operator decides about a channel, in one field or in several that are read together.
type setting struct {
	fields []Field
	// show has the values of the fields, in their order.
	show func(ch posthouse.Channel) []string
	read func(r *Reader, ch *posthouse.Channel)
}

// over is a setting of one field that stands at one place of a channel.
func over[T any](f Field, at func(*posthouse.Channel) *T, show func(T) string, read func(r *Reader, name string) T) setting {
	return setting{
		[]Field{f},
		func(ch posthouse.Channel) []string { return []string{show(*at(&ch))} },
		func(r *Reader, ch *posthouse.Channel) { *at(ch) = read(r, f.Name) },
	}
}

// grouped are settings that stand folded together.
func grouped(label, labelZH string, list ...setting) []setting {
	for _, s := range list {
		for i := range s.fields {
			s.fields[i].Group, s.fields[i].GroupZH = label, labelZH
		}
	}
	return list
}

// bilingual is a text in English and in Chinese.
type bilingual [2]string

func named(name string, kind channel.Kind, label, help bilingual) Field {
	return Field{Name: name, Field: wire.Field{Kind: wire.FieldKind(kind), Label: label[0], LabelZH: label[1], Help: help[0], HelpZH: help[1]}}
}

// settings are all that the form of a channel has besides the driver's fields. Quiet hours and caps have a page of their own, and a preset has
// its own form.
func settings() []setting {
	return slices.Concat(
		grouped("", "", ofItself()...),
		grouped("Tries and unknown outcomes", "重试与结果未知", ofTries()...),
		grouped("Limits and calls at once", "限流与并发", ofLimits()...),
		grouped("Adaptive rate", "自适应速率", ofRate()),
		grouped("Budgets", "预算", ofBudgets()...),
		grouped("Runs, days and promises", "发送时机与承诺", ofTimes()...),
		grouped("Recipients and tests", "收件人与测试", ofRecipients()...),
		grouped("Several accounts", "多账号", ofAccounts()...),
		grouped("Phones and other agents", "手机等发送端", ofAgents()...),
		grouped("Network and answers", "网络与应答", ofNetwork()...),
	)
}

func ofItself() []setting {
	profile := named("profile", channel.KindChoice, bilingual{"Profile", "预设参数"}, bilingual{"A set of defaults, for what is not said below. Without it default.", "一组默认设置，下面没有填的以它为准。不选为 default。"})
	profile.Choices = profiles()
	return []setting{
		word(named("title", channel.KindString, bilingual{"Title", "显示名称"}, bilingual{"What people call it, shown beside its name.", "与渠道名一起显示，方便辨认。"}), func(c *posthouse.Channel) *string { return &c.Title }),
		word(profile, func(c *posthouse.Channel) *string { return &c.Profile }),
		flag(named("accounts", channel.KindBool, bilingual{"It sends by several accounts", "用多个账号发送"}, bilingual{}), func(c *posthouse.Channel) *bool { return &c.Accounts }),
	}
}

func ofTries() []setting {
	tries := named("tries", channel.KindInt, bilingual{"Tries", "最多失败次数"}, bilingual{"How many failures end a delivery. Without it the profile's, or 8.", "失败多少次后不再重试。不填则按预设，或 8 次。"})
	tries.Min = 1
	unknown := named("on_unknown", channel.KindChoice, bilingual{"If it is unknown whether it arrived", "结果未知时"}, bilingual{})
	unknown.Choices = policies()
	return []setting{
		number(tries, func(c *posthouse.Channel) *int { return &c.Tries }),
		over(named("backoff", channel.KindString, bilingual{"Waits between tries", "重试间隔"}, bilingual{"After the first, second, … failure; the last one repeats. Without it the profile's, or 1m, 3m, 5m, 10m, 30m, 1h, 3h.", "第 1、2……次失败后各等多久，最后一个重复使用。不填则按预设，或 1m, 3m, 5m, 10m, 30m, 1h, 3h。"}),
			func(c *posthouse.Channel) *[]posthouse.Duration { return &c.Backoff }, durationsText, (*Reader).durations),
		over(named("jitter", channel.KindString, bilingual{"Spread of the waits", "间隔抖动"}, bilingual{"By up to which share each wait is longer or shorter, from 0 to 1. Without it 0.2.", "每次等待随机增减的最大比例，0 到 1。不填为 0.2。"}),
			func(c *posthouse.Channel) **float64 { return &c.Jitter }, fractionText, (*Reader).fraction),
		over(unknown, func(c *posthouse.Channel) *posthouse.Policy { return &c.OnUnknown }, func(p posthouse.Policy) string { return string(p) }, func(r *Reader, name string) posthouse.Policy { return posthouse.Policy(r.Sent(name)) }),
		duration(named("hold_timeout", channel.KindDuration, bilingual{"A held unknown counts as failed after", "挂起多久后算失败"}, bilingual{"Without it it waits for a person.", "不填则一直等人处理。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.HoldTimeout }),
		duration(named("timeout", channel.KindDuration, bilingual{"Bound on one call", "单次调用超时"}, bilingual{"Of the provider, or for how long an agent holds what it was handed. Without it the driver's.", "调用平台的时限；由发送端领取的渠道，则为领取后的持有时限。不填则按渠道驱动的默认值。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.Timeout }),
		duration(named("probe_after", channel.KindDuration, bilingual{"First probe of a refused account", "被拒后多久试探"}, bilingual{"It doubles with each probe. Without it 5m.", "每试探一次加倍。不填为 5m。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.ProbeAfter }),
		duration(named("probe_max", channel.KindDuration, bilingual{"Longest wait for a probe", "试探最长间隔"}, bilingual{"Without it 1h.", "不填为 1h。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.ProbeMax }),
		over(named("codes", channel.KindMap, bilingual{"What the provider's codes mean", "平台错误码的含义"}, bilingual{"A class of each, such as 500: transient or E02: recipient.", "每个码对应一个类别，例如 500: transient、E02: recipient。"}),
			func(c *posthouse.Channel) *map[string]posthouse.Class { return &c.Codes }, PairsText[posthouse.Class], ReadPairs[posthouse.Class]),
		over(named("rules", channel.KindText, bilingual{"Rules", "规则"}, bilingual{"One a line: duty roster=night recipients=head_office,branch tells these types of recipients only while they are on duty.", "每行一条：duty roster=night recipients=head_office,branch 表示这些类型的收件人只在当班时通知。"}),
			func(c *posthouse.Channel) *[]posthouse.RuleSettings { return &c.Rules }, rulesText, (*Reader).rules),
	}
}

func profiles() []wire.Choice {
	return []wire.Choice{
		{Value: "default", Label: "default: eight tries within some five hours", LabelZH: "default：约五小时内最多失败 8 次"},
		{Value: "duty", Label: "duty: a run each minute, three tries; what may have arrived is sent again", LabelZH: "duty：每分钟发送一轮，最多失败 3 次；结果未知的重发"},
		{Value: "flow", Label: "flow: as default; what may have arrived is sent again", LabelZH: "flow：同 default；结果未知的重发"},
		{Value: "wecom", Label: "wecom: tries and waits by the class of the error; what may have arrived is sent again", LabelZH: "wecom：次数和间隔按错误类别；结果未知的重发"},
	}
}

func policies() (list []wire.Choice) {
	say := map[posthouse.Policy]bilingual{
		posthouse.Retry: {"Try again", "重试"}, posthouse.Hold: {"Hold for a person", "等人处理"},
		posthouse.Query: {"Ask the provider, where the driver can", "查询平台（渠道驱动支持时）"}, posthouse.AssumeSent: {"Count as sent", "视为已发送"},
	}
	for _, p := range posthouse.Policies() {
		list = append(list, wire.Choice{Value: string(p), Label: say[p][0], LabelZH: say[p][1]})
	}
	return list
}

func ofLimits() []setting {
	by := named("limit_by", channel.KindChoice, bilingual{"What limits count", "限流统计对象"}, bilingual{"A call is for up to a batch of recipients. Without it recipients.", "一次调用最多发给一批收件人。不填则按收件人。"})
	by.Choices = []wire.Choice{{Value: string(posthouse.LimitByRecipients), Label: "Recipients", LabelZH: "收件人"}, {Value: string(posthouse.LimitByCalls), Label: "Calls of the provider", LabelZH: "平台调用次数"}}
	limits := Field{Field: windowsField("Without it the driver's.", "不填则按渠道驱动的默认值。"), Name: "limits", Windows: true}
	account := windowsNamed("account_limits", bilingual{"Limits of each account", "账号限流"}, bilingual{"Of each that names none of its own. Without it the driver's.", "用于没有单独设置的账号。不填则按渠道驱动的默认值。"})
	recipient := windowsNamed("recipient_limits", bilingual{"Limits of each recipient", "收件人限流"}, bilingual{"What is beyond them waits. Without it the driver's.", "超出的等待。不填则按渠道驱动的默认值。"})
	return []setting{
		windows(limits, func(c *posthouse.Channel) *[]posthouse.Limit { return &c.Limits }),
		over(by, func(c *posthouse.Channel) *posthouse.LimitBy { return &c.LimitBy }, func(l posthouse.LimitBy) string { return string(l) }, func(r *Reader, name string) posthouse.LimitBy { return posthouse.LimitBy(r.Sent(name)) }),
		windows(account, func(c *posthouse.Channel) *[]posthouse.Limit { return &c.AccountLimits }),
		windows(recipient, func(c *posthouse.Channel) *[]posthouse.Limit { return &c.RecipientLimits }),
		over(named("template_limits", channel.KindMap, bilingual{"Limits of templates", "模板限流"}, bilingual{"By the template's name, such as otp: 5/1s, 100/1m; * is each that is not named.", "按模板名，例如 otp: 5/1s, 100/1m；* 表示其余的模板。"}),
			func(c *posthouse.Channel) *map[string][]posthouse.Limit { return &c.TemplateLimits }, windowsByText[string], readWindowsBy[string]),
		over(named("type_limits", channel.KindMap, bilingual{"Limits of content types", "内容类型限流"}, bilingual{"Of each account, by the type, such as markdown: 20/1m.", "每个账号按类型，例如 markdown: 20/1m。"}),
			func(c *posthouse.Channel) *map[posthouse.ContentType][]posthouse.Limit { return &c.TypeLimits }, windowsByText[posthouse.ContentType], readWindowsBy[posthouse.ContentType]),
		number(named("max_inflight", channel.KindInt, bilingual{"Calls at once", "并发上限"}, bilingual{"In one process, by each account. Without it 32 where the provider has no idempotency key, else 256.", "每个进程、每个账号。不填：平台没有幂等键时为 32，否则 256。"}), func(c *posthouse.Channel) *int { return &c.MaxInflight }),
		number(named("channel_max_inflight", channel.KindInt, bilingual{"Calls at once by all accounts", "全部账号的并发上限"}, bilingual{"In one process. Without it 4096.", "每个进程。不填为 4096。"}), func(c *posthouse.Channel) *int { return &c.ChannelMaxInflight }),
		number(named("batch", channel.KindInt, bilingual{"Recipients in one call", "单次调用的收件人数"}, bilingual{"At most the driver's own maximum, which holds without it.", "不超过渠道驱动的上限；不填则用该上限。"}), func(c *posthouse.Channel) *int { return &c.Batch }),
	}
}

func ofRate() setting {
	outside := named("rate.hours.outside", channel.KindString, bilingual{"Factor at all other times", "其余时间的系数"}, bilingual{"Without it 0.5.", "不填为 0.5。"})
	return setting{
		fields: []Field{
			named("rate", channel.KindBool, bilingual{"Each account finds how fast its provider lets it go", "按平台的承受能力自动调整每个账号的速率"}, bilingual{}),
			named("rate.base", channel.KindString, bilingual{"Base rate", "基准速率"}, bilingual{"The most calls a second of an account. Without it it is learned.", "每个账号每秒最多调用几次。不填则自动学习。"}),
			named("rate.hours.from", channel.KindString, bilingual{"Full rate from", "全速时段开始"}, bilingual{"A local time, such as 09:00. Without it at all times.", "当地时间，例如 09:00。不填则全天全速。"}),
			named("rate.hours.to", channel.KindString, bilingual{"Full rate until", "全速时段结束"}, bilingual{"Such as 18:00.", "例如 18:00。"}),
			named("rate.hours.calendar", channel.KindString, bilingual{"Calendar of the hours", "时段日历"}, bilingual{"A roster: a day without anybody is a day off. Without it Monday to Friday.", "值班表名：无人的日子即休息日。不填则周一至周五。"}),
			outside,
		},
		show: func(c posthouse.Channel) []string {
			if c.Rate == nil {
				return make([]string, 6)
			}
			h := cmp.Or(c.Rate.Hours, &posthouse.WorkingHours{})
			return []string{"1", unlessNone(c.Rate.Base), h.From, h.To, h.Calendar, unlessNone(h.Outside)}
		},
		read: func(r *Reader, c *posthouse.Channel) {
			rate := posthouse.RateSettings{Base: r.number("rate.base")}
			hours := posthouse.WorkingHours{From: r.Sent("rate.hours.from"), To: r.Sent("rate.hours.to"), Calendar: r.Sent("rate.hours.calendar"), Outside: r.number("rate.hours.outside")}
			if hours != (posthouse.WorkingHours{}) {
				rate.Hours = &hours
			}
			if c.Rate = &rate; r.Sent("rate") == "" {
				if rate != (posthouse.RateSettings{}) {
					r.refuse("rate", r.Say("rate_is_off"))
				}
				c.Rate = nil
			}
		},
	}
}

func ofBudgets() []setting {
	account := budgetField(" Without it none.", "不填则没有预算。")
	account.Label, account.LabelZH = "Budget of each account", "账号预算"
	return []setting{
		budget(Field{Field: budgetField("", ""), Name: "budget"}, func(c *posthouse.Channel) **posthouse.Budget { return &c.Budget }),
		budget(Field{Field: account, Name: "account_budget"}, func(c *posthouse.Channel) **posthouse.Budget { return &c.AccountBudget }),
	}
}

func ofTimes() []setting {
	promises := setting{
		show: func(c posthouse.Channel) (list []string) {
			for _, p := range posthouse.Priorities() {
				list = append(list, durationText(c.Promise[p]))
			}
			return list
		},
		read: func(r *Reader, c *posthouse.Channel) {
			c.Promise = nil
			for _, p := range posthouse.Priorities() {
				if d := r.duration("promise." + string(p)); d != 0 {
					if c.Promise == nil {
						c.Promise = map[posthouse.Priority]posthouse.Duration{}
					}
					c.Promise[p] = d
				}
			}
		},
	}
	labels := map[posthouse.Priority]bilingual{posthouse.High: {"high", "高"}, posthouse.Normal: {"normal", "普通"}, posthouse.Low: {"low", "低"}}
	usual := map[posthouse.Priority]string{posthouse.High: "1m", posthouse.Normal: "5m", posthouse.Low: "1h"}
	for _, p := range posthouse.Priorities() {
		promises.fields = append(promises.fields, named("promise."+string(p), channel.KindDuration, bilingual{"Longest wait that is promised, priority " + labels[p][0], labels[p][1] + "优先级最长等待承诺"}, bilingual{"What is due and waits longer is shown as late. Without it " + usual[p] + ".", "到期后等待更久的显示为超时。不填为 " + usual[p] + "。"}))
	}
	return []setting{
		over(named("every", channel.KindDuration, bilingual{"It sends in runs, one each", "每隔多久发送一轮"}, bilingual{"0s sends at once. Without it the profile's, or at once.", "0s 表示立即发送。不填则按预设，或立即发送。"}),
			func(c *posthouse.Channel) **posthouse.Duration { return &c.Every }, durationOrNoneText, (*Reader).durationOrNone),
		word(named("job", channel.KindString, bilingual{"Name of the runs", "任务名"}, bilingual{"In logs and metrics.", "出现在日志和指标中。"}), func(c *posthouse.Channel) *string { return &c.Job }),
		flag(named("expire_end_of_day", channel.KindBool, bilingual{"A message without a deadline ends with its day", "没有截止时间的消息当日过期"}, bilingual{}), func(c *posthouse.Channel) *bool { return &c.ExpireEndOfDay }),
		word(named("time_zone", channel.KindString, bilingual{"Time zone", "时区"}, bilingual{"Of days and rosters, such as Asia/Shanghai. Without it the server's.", "日期和值班表所用的时区，例如 Asia/Shanghai。不填则按服务器的设置。"}), func(c *posthouse.Channel) *string { return &c.TimeZone }),
		duration(named("dedup_window", channel.KindDuration, bilingual{"For how long a dedup key holds", "去重时长"}, bilingual{"Without it 7d.", "不填为 7d。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.DedupWindow }),
		promises,
	}
}

func ofRecipients() []setting {
	return []setting{
		lines(named("test_to", channel.KindList, bilingual{"Addresses for tests", "测试地址"}, bilingual{"Whoever may test the channel, and not send, sends a test to these alone.", "只能测试、不能发送消息的人，只可向这些地址发测试。"}), func(c *posthouse.Channel) *[]string { return &c.TestTo }),
		lines(named("exempt_kinds", channel.KindList, bilingual{"Kinds that go to suppressed addresses too", "禁发地址也发送的业务类型"}, bilingual{"Such as one-time passwords that people have just asked for.", "例如用户刚刚请求的验证码。"}), func(c *posthouse.Channel) *[]string { return &c.ExemptKinds }),
	}
}

func ofAccounts() []setting {
	sticky := named("sticky", channel.KindChoice, bilingual{"What stays on one account", "固定用同一账号的"}, bilingual{"Without it each delivery goes by the account that can send soonest.", "不选则由最快能发送的账号发送。"})
	sticky.Choices = []wire.Choice{{Value: string(posthouse.StickyConversation), Label: "A conversation: one kind and ref, or one recipient", LabelZH: "同一会话：同一业务类型和业务主键，或同一收件人"}}
	return []setting{
		over(sticky, func(c *posthouse.Channel) *posthouse.Sticky { return &c.Sticky }, func(s posthouse.Sticky) string { return string(s) }, func(r *Reader, name string) posthouse.Sticky { return posthouse.Sticky(r.Sent(name)) }),
		flag(named("failover", channel.KindBool, bilingual{"What is pinned to an account that is paused or refused goes by another", "指定的账号暂停或被拒时改用其他账号"}, bilingual{}), func(c *posthouse.Channel) *bool { return &c.Failover }),
	}
}

func ofAgents() []setting {
	return []setting{
		flag(named("pull", channel.KindBool, bilingual{"Agents fetch what is to be sent", "由发送端领取"}, bilingual{}), func(c *posthouse.Channel) *bool { return &c.Pull }),
		over(named("needs", channel.KindMap, bilingual{"Capabilities an agent must have", "对发送端的要求"}, bilingual{"Such as operator: cmcc.", "例如 operator: cmcc。"}),
			func(c *posthouse.Channel) *map[string]string { return &c.Needs }, PairsText[string], ReadPairs[string]),
		duration(named("fair_after", channel.KindDuration, bilingual{"A due retry goes before new ones after", "重试等多久后优先于新消息"}, bilingual{"Without it 10m.", "不填为 10m。"}), func(c *posthouse.Channel) *posthouse.Duration { return &c.FairAfter }),
	}
}

func ofNetwork() []setting {
	keep := named("keep_answers", channel.KindChoice, bilingual{"The beginning of each answer is kept", "保留应答的开头"}, bilingual{"For everybody who may read deliveries. Without it not, but with the profile duty.", "能查看投递的人都能看到。不选则不保留，预设参数为 duty 时保留。"})
	keep.Choices = []wire.Choice{{Value: "true", Label: "Yes", LabelZH: "是"}, {Value: "false", Label: "No", LabelZH: "否"}}
	egress := setting{
		fields: []Field{
			named("egress.hosts", channel.KindList, bilingual{"Hosts that it may call besides", "另外允许访问的主机"}, bilingual{"Such as files.example.com, or *.example.com for all below it.", "例如 files.example.com；*.example.com 表示其下全部。"}),
			named("egress.ports", channel.KindString, bilingual{"Ports of the hosts", "允许的端口"}, bilingual{"Such as 443, 8443. Without it 80, 443 and those of the addresses above.", "例如 443, 8443。不填则为 80、443 和上面各网址的端口。"}),
			named("egress.recipient_urls", channel.KindBool, bilingual{"It calls the URL that a recipient's address is", "收件人地址是网址时直接访问"}, bilingual{}),
		},
		show: func(c posthouse.Channel) []string {
			e := cmp.Or(c.Egress, &posthouse.Egress{})
			var ports []string
			for _, p := range e.Ports {
				ports = append(ports, strconv.Itoa(p))
			}
			return []string{strings.Join(e.Hosts, "\n"), strings.Join(ports, ", "), flagText(e.RecipientURLs)}
		},
		read: func(r *Reader, c *posthouse.Channel) {
			e := posthouse.Egress{Hosts: r.Lines("egress.hosts"), RecipientURLs: r.Sent("egress.recipient_urls") != ""}
			for _, part := range separated(r.Sent("egress.ports")) {
				port, err := strconv.Atoi(part)
				if err != nil {
					r.refuse("egress.ports", r.Say("want_number"))
					break
				}
				e.Ports = append(e.Ports, port)
			}
			if c.Egress = &e; len(e.Hosts)+len(e.Ports) == 0 && !e.RecipientURLs {
				c.Egress = nil
			}
		},
	}
	return []setting{
		egress,
		over(keep, func(c *posthouse.Channel) **bool { return &c.KeepAnswers }, func(b *bool) string {
			if b == nil {
				return ""
			}
			return strconv.FormatBool(*b)
		}, func(r *Reader, name string) *bool {
			b, err := strconv.ParseBool(r.Sent(name))
			if err != nil {
				return nil
			}
			return &b
		}),
	}
}

func windowsNamed(name string, label, help bilingual) Field {
	f := named(name, channel.KindText, label, bilingual{"One window a line, such as 20/1s or 1000/1m, or unlimited. " + help[0], "每行一个窗口，例如 20/1s、1000/1m；unlimited 表示不限。" + help[1]})
	f.Windows = true
	return f
}
