package words

// boardWords are the texts of lists: the board of channels, and what the rows of all lists have.
func boardWords() map[string]Word {
	return map[string]Word{
		"board_find":   {"Find a channel", "查找渠道"},
		"board_hour":   {"Last hour", "最近 1 小时"},
		"board_oldest": {"Oldest waits", "最久等待"},
		"board_full":   {"Tightest limit", "最紧的限流"},
		"board_parked": {"refused accounts", "被拒账号"},
		"board_none":   {"No channel fits.", "没有符合的渠道。"},
		"board_help":   {"Sent, failed and unknown are attempts of the last hour; the red line is what was refused for good, or by the last try.", "已发送、失败、未知为最近 1 小时的发送次数，红线为被拒绝或已达最多失败次数的次数。"},
		"halted_only":  {"do not send", "停发"},
		"dense":        {"Compact rows", "紧凑显示"},
		"roomy":        {"Roomy rows", "宽松显示"},

		"narrow":         {"Narrow down", "筛选"},
		"of_all":         {"counted among all", "统计范围：全部"},
		"of_newest":      {"counted among the newest", "统计范围：最近的条数"},
		"take_away":      {"Take away", "去掉"},
		"take_all_away":  {"Clear all", "全部清除"},
		"search_words":   {"Words", "关键词"},
		"unit_each":      {"each", "每"},
		"unit_add":       {"One more window", "再加一个窗口"},
		"unit_drop":      {"Take it away", "去掉"},
		"unit":           {"Unit", "单位"},
		"unit_most":      {"At most", "最多"},
		"unit_s":         {"seconds", "秒"},
		"unit_m":         {"minutes", "分钟"},
		"unit_h":         {"hours", "小时"},
		"unit_d":         {"days", "天"},
		"period_quarter": {"15 minutes", "15 分钟"},
		"views":          {"Saved searches", "常用查询"},
		"view_save":      {"Save this search as", "把当前查询保存为"},
		"view_keep":      {"Save", "保存"},
		"view_drop":      {"Remove", "删除"},
		"view_help":      {"They are kept in this browser.", "保存在当前浏览器中。"},
		"view_name":      {"want a name of one line, such as: failed today", "请填写名称，例如：今天失败的"},
		"view_long":      {"want a shorter search: it has to fit this browser", "查询条件太长，浏览器存不下"},
		"view_many":      {"want one less: eight searches are kept at most", "最多保存 8 个，请先删除一个"},
		"view_not":       {"Nothing was saved.", "没有保存。"},
	}
}
