package words

// meanwhileWords are the texts for what somebody else has changed between a look and a decision.
func meanwhileWords() map[string]Word {
	return map[string]Word{
		"moved_channel":   {"Somebody else has changed this channel since you opened the form, and nothing was stored. Beside each field that differs stands what is stored now. Take over what is right, and store again: then it replaces what is there.", "打开此表单后，其他人修改了该渠道，本次没有保存。与现有配置不同的字段旁显示了现在保存的值。请核对后再次保存，保存即替换现有配置。"},
		"moved_account":   {"Somebody else has changed this account since you opened the form, and nothing was stored. Beside each field that differs stands what is stored now. Take over what is right, and store again: then it replaces what is there.", "打开此表单后，其他人修改了该账号，本次没有保存。与现有配置不同的字段旁显示了现在保存的值。请核对后再次保存，保存即替换现有配置。"},
		"moved_roster":    {"Somebody else has changed this roster since you looked, and nothing was stored. This is what your change makes of the roster as it is now: confirm it again, or go back.", "查看之后，其他人修改了该值班表，本次没有保存。以下是你的修改对现有值班表的影响，请再次确认或返回。"},
		"moved_template":  {"Somebody else has stored a version since you opened the page, and nothing was stored. The difference is from that version to your text. Take over what is right, and look at it again: then it can be stored as the version after it.", "打开页面后，其他人保存了新版本，本次没有保存。以下是该版本与你的内容的差异。请核对后重新预览，再保存为下一版本。"},
		"moved_version":   {"Somebody else has stored a version since you opened the page, and nothing was stored. The difference is from that version to yours. Take over what is right, and store again: then yours is the version after it.", "打开页面后，其他人保存了新版本，本次没有保存。以下是该版本与你的内容的差异。请核对后再次保存，保存即成为下一版本。"},
		"deleted_since":   {"was deleted since you opened the page, and nothing was stored: store it to make it anew", "在打开页面之后已被删除，本次没有保存；再次保存即重新创建"},
		"moved_directory": {"Somebody else has changed the directory since you looked, and nothing was stored. This is what the file changes now: confirm it again, or go back.", "查看之后，其他人修改了通讯录，本次没有保存。以下是该文件现在会带来的变化，请再次确认或返回。"},
		"duty_then":       {"On duty then", "修改后的值班"},
		"stored_now":      {"stored now:", "现在保存的值："},
		"form_long":       {"The form is longer than 1 MB, and nothing was done. Go back and shorten what was typed, or hand it in by the API.", "表单内容超过 1 MB，没有执行任何操作。请返回精简内容，或改用 API 提交。"},
		"sent_already":    {"This form was sent already, and what it decided then stands: nothing was decided a second time. Look what became of it, and load the page again to decide anew.", "该表单已提交过，以第一次提交为准，没有重复执行。请查看结果，如需再次操作请重新打开页面。"},
		"yes":             {"yes", "是"},
		"no":              {"no", "否"},
	}
}
