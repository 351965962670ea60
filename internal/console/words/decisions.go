package words

// courseWords are the texts of decisions about many, which go on step by step.
func courseWords() map[string]Word {
	return map[string]Word{
		"decisions":            {"Bulk actions", "批量处理记录"},
		"decision_running":     {"goes on", "进行中"},
		"decision_done":        {"done", "已完成"},
		"decision_stopped":     {"stopped", "已停止"},
		"decision_begun":       {"Begun", "开始时间"},
		"decision_goes_on":     {"It goes on by itself, also when this page is closed.", "关闭本页也会继续执行。"},
		"decision_stop":        {"Stop here", "停止"},
		"decision_stop_help":   {"What is decided stays decided.", "已处理的不会撤回。"},
		"decision_first":       {"Choose what a filter selects, and decide about all of it:", "先筛选，再一次处理全部："},
		"no_decision":          {"Nobody has decided about many yet.", "还没有批量处理过。"},
		"decision_undo":        {"Undo", "撤回"},
		"decision_undo_retry":  {"What has not started yet waits for a person again. The rest stays as it is, and the undo itself cannot be undone.", "尚未开始发送的重新等人确认；其余不变。撤回本身不能再撤回。"},
		"decision_undo_replay": {"New deliveries that have not started yet are cancelled; the old ones can be sent again. The rest stays as it is, and the undo itself cannot be undone.", "尚未开始发送的新投递会撤销，原投递之后仍可重发；其余不变。撤回本身不能再撤回。"},
		"decision_undo_most":   {"At most:", "最多涉及："},
		"outcome_undo":         {"Undo of a decision", "撤回一次批量处理"},
		"undoes":               {"Undoes", "撤回的是"},
		"undone_by":            {"Undone by", "已被撤回"},
		"left_begun":           {"had begun, and are left as they are:", "已开始发送，保持不变："},
		"how_far":              {"How far", "进度"},
		"step_failed":          {"The last step failed and is tried again:", "上一步失败，将重试："},
		"counted_newest":       {"Counted over the newest", "仅统计最近的条数："},
		"what_left":            {"What can still be done", "之后还能做什么"},
		"after_sent":           {"This cannot be undone: they count as arrived.", "无法撤回：它们已记为已发送。"},
		"after_not_sent":       {"They count as failed, and can be sent again.", "它们已记为失败，仍可重发。"},
		"after_again":          {"What has not started yet can be taken back, all at once or one by one. What was sent stays sent.", "尚未开始发送的可以一次撤回，也可以逐条撤销；已发出的无法收回。"},
		"after_undo":           {"What was unknown waits for a person again; what failed can be sent again.", "原来结果未知的重新等人确认；原来失败的仍可重发。"},
		"undo_sent":            {"This cannot be undone.", "此操作无法撤回。"},
		"undo_not_sent":        {"They count as failed after that, and can still be sent again.", "之后记为失败，仍可重发。"},
		"undo_retry":           {"What has not started can be taken back. What was sent stays sent.", "开始发送前可以撤回，已发出的无法收回。"},
		"undo_replay":          {"What has not started can be taken back. What was sent stays sent.", "开始发送前可以撤回，已发出的无法收回。"},
	}
}
