package catalog

// campaigns are what stands in the way of a campaign, and what a provider takes as a parameter of its templates.
func campaigns() []Sentence {
	return []Sentence{
		{"%.80q is disabled", "{1} 已停用"},
		{"brake: %d of %d have failed", "已自动暂停：{2} 人中有 {1} 人失败，超过熔断比例"},
		{"canary: %d of the first %d have failed", "已自动暂停：试发的前 {2} 人中有 {1} 人失败"},
		{"none of the first %d can be sent to; %s: %s %s", "前 {1} 人都无法发送；{2}：{3!} {4!}"},
		{"%d of the first %d cannot be sent to; %s: %s %s", "前 {2} 人中有 {1} 人无法发送；{3}：{4!} {5!}"},
		{"%s does not start: %s. Start it with force all the same", "{1} 不能开始：{2!}。确认无妨可强制开始"},
		{"%d records have no %s", "{1} 条记录缺少 {2}"},
		{"sending takes at least %s under the limits, and the deadline comes before", "按限流至少需要 {1}，超过了截止时间"},
		{"it is spread over %s, and the deadline comes before", "均匀发送时长为 {1}，超过了截止时间"},
		{"%s has addresses of the channel %s", "{1} 是渠道 {2} 的名单"},
		{"%s is still being imported", "{1} 还在导入"},
		{"%s would begin after its deadline: %s", "{1} 的开始时间晚于截止时间 {2}"},
		{"are given to a campaign without a template: each member gets the same", "没有模板的群发任务不能设参数：所有人收到同样的内容"},
		{"chooses among the members of a stored list: name it as audience", "只能从已存名单中挑选：请用 audience 指定名单"},
		{"has %.60q: want some of %s", "含有 {1}，应为以下之一或多个：{2}"},
		{"has %d characters: WeChat takes at most %d %s as a %s", "有 {1} 个字符：微信的 {4} 参数最多 {2} {3!}"},
		{"has a placeholder, which is filled in the texts of a template only: give the campaign or its template a parameter %.80q with this text", "含有变量占位符，只有模板的文字才会替换：请给群发任务或模板设参数 {1}，内容为这段文字"},
		{"is %.40q: as a parameter %s WeChat takes a text such as %s", "为 {1}：微信的 {2} 参数应类似 {3!}"},
		{"is %.40q: WeChat takes %s only as a %s", "为 {1}：微信的 {3} 参数只能是{2!}"},
		{"is %.60q: want deadline, spread, canary, brake, not_told_within, parameters or payload", "为 {1}，可填 deadline、spread、canary、brake、not_told_within、parameters、payload"},
		{"is %q: want hold or retry", "为 {1}，可填 hold 或 retry"},
		{"is %s: it is scheduled for %s", "为 {1}：任务定于 {2} 开始"},
		{"is empty, which WeChat refuses", "为空，微信会拒绝"},
		{"is fetched by agents: a campaign needs one that sends", "由发送端拉取，群发任务需要能直接发送的渠道"},
		{"is not written yet", "还没有写"},
		{"is required, or a content", "必填，或直接填写内容"},
		{"is required: want some of %s", "必填，可选：{1}"},
		{"nobody is %s: there is no campaign to make", "没有人属于 {1}，无需新建群发任务"},
		{"nobody is in the audience", "受众为空"},
		{"nobody is in the audience of %s", "{1} 的受众为空"},
		{"sending takes at least %s under the channel's limits and the campaign's spread: it ends before everybody is reached", "按渠道限流和均匀发送时长至少需要 {1}，到截止时间还发不完"},
		{"stands beside a template or a content: give one of them", "不能与模板或统一内容同时填写，请只选一种"},
		{"the campaign cannot be changed", "群发任务不能修改"},
		{"the campaign cannot be made", "群发任务不能新建"},
		{"the campaign cannot be scheduled", "群发任务不能定时"},
		{"the campaign is for the stored list %s: import into that", "群发任务使用已存名单 {1}，请导入到该名单"},
		{"the deadline of %s has passed: %s", "{1} 的截止时间 {2} 已过"},
		{"the import is not complete", "名单还没有导入完"},
		{"the import of the people of %s is not complete", "{1} 的名单还没有导入完"},
		{"the next campaign cannot be made", "后续群发任务不能新建"},
		{"the text of %s is not written yet", "{1} 的内容还没有写"},
		{"there is no template %.80q", "没有模板 {1}"},
		{"the template needs a value here", "没有取值"},
		{"there is no audience %.80q", "没有名单 {1}"},
		{"there is no campaign %.80q", "没有群发任务 {1}"},
		{"there is a campaign %q already", "已有名为 {1} 的群发任务"},
		{"there is no channel %.80q, or it is not open; %s", "没有渠道 {1}，或渠道未打开；{2!}"},
		{"nothing fills %s of the provider's template %s (%s): campaign change --parameter '%s=${…}', or template set with the same, says which column does", "平台模板 {2}（{3}）的参数 {1} 没有取值：请在“写内容”一步选择对应的列"},
		{"the provider keeps no template %s", "平台没有模板 {1}"},
		{"at most %d %s", "最多 {1} {2!}"},
		{"such as %s", "例如 {1!}"},
		{"nothing is sent before %s: %s", "{1} 之前不会发送：{2!}"},
		{"15:01, or 2026年10月1日 15:01", "15:01、2026年10月1日 15:01"}, {"2026年10月1日, or 2026-10-01 15:01", "2026年10月1日、2026-10-01 15:01"}, {"¥36.5, or 36.5元", "¥36.5、36.5元"},
		{"at most %d Chinese characters or %d letters", "最多 {1} 个汉字或 {2} 个字母"},
	}
}

// kinds are what parameters of a provider's templates hold.
func kinds() []Sentence {
	return []Sentence{
		{"characters", "个字符"}, {"digits", "位数字"}, {"letters", "个字母"}, {"symbols", "个符号"}, {"digits, letters and symbols of ASCII", "个 ASCII 数字、字母或符号"}, {"digits and symbols", "个数字或符号"},
		{"Chinese characters", "个汉字"},
	}
}

// campaignStates are the states of campaigns where they stand in a line.
func campaignStates() []Sentence {
	return []Sentence{
		{"draft", "还是草稿"}, {"importing", "正在导入名单"}, {"ready", "已就绪"}, {"scheduled", "已定时"}, {"running", "正在发送"}, {"paused", "已暂停"}, {"done", "已完成"}, {"expired", "已过期"}, {"cancelled", "已取消"},
	}
}

// campaignSteps are what a campaign's state does not allow.
func campaignSteps() (list []Sentence) {
	states := campaignStates()
	actions := []Sentence{
		{"import", "导入名单"}, {"close", "结束导入"}, {"change", "修改"}, {"start", "开始"}, {"schedule", "定时"}, {"unschedule", "取消定时"}, {"pause", "暂停"}, {"resume", "恢复"}, {"cancel", "取消"},
		{"repair", "修复"}, {"finish", "结束"}, {"expire", "过期"},
	}
	for _, state := range states {
		for _, action := range actions {
			list = append(list, Sentence{"the campaign %s is " + state.English + ": " + action.English + " is possible while it is %s", "群发任务 {1} " + state.Chinese + "，此时不能" + action.Chinese})
		}
	}
	return append(list, Sentence{"the campaign %s is %s: %s is possible while it is %s", "群发任务 {1} 为 {2}；{3} 只能在 {4} 时进行"})
}
