package words

// formWords are the texts of forms.
func formWords() map[string]Word {
	return map[string]Word{
		"new_channel":      {"New channel", "新建渠道"},
		"choose_driver":    {"What is to be sent over?", "消息通过什么发出？"},
		"edit_channel":     {"Change", "修改"},
		"channel_name":     {"Name of the channel, which messages name it by", "渠道名称（发送消息时使用）"},
		"settings":         {"How it sends", "发送设置"},
		"other_settings":   {"Other settings stay as they are:", "其他设置保持不变："},
		"make_help":        {"Messages can be sent over it at once.", "保存后即可发送。"},
		"edit_help":        {"From now on deliveries are sent this way, also those that wait.", "保存后立即按新设置发送，包括正在等待的投递。"},
		"store":            {"Store", "保存"},
		"stored":           {"It is stored.", "已保存。"},
		"stored_secret":    {"stored; empty keeps it", "已保存，留空则不变"},
		"name_taken":       {"There is one of this name already.", "该名称已被使用。"},
		"name_missing":     {"It needs a name.", "请填写名称。"},
		"want_number":      {"want a whole number", "请填整数"},
		"want_decimal":     {"want a number such as 5 or 0.5", "请填数字，例如 5 或 0.5"},
		"want_window":      {"want windows such as 20/1s and 1000/1m, or unlimited alone", "请填窗口，例如 20/1s、1000/1m，或单独填 unlimited"},
		"lines_of_pairs":   {"One a line, as name: value.", "每行一项，格式为 名称: 值。"},
		"lines_of_secrets": {"One a line, as name: value. ******** keeps the stored one.", "每行一项，格式为 名称: 值；******** 表示不变。"},
		"lines_of_items":   {"One a line.", "每行一项。"},
		"a_duration":       {"Such as 30s or 5m.", "例如 30s、5m。"},
		"test":             {"Test", "测试"},
		"test_help":        {"To an address a real message is sent at once, around the queue. Without one it is only asked whether the provider can be reached.", "填写地址会立即真实发送一条，不经过队列；不填则只检查平台能否连通。"},
		"test_listed":      {"Your role sends tests only to the addresses that the channel's test_to lists.", "你的角色只能向渠道 test_to 中列出的地址发送测试消息。"},
		"compose":          {"Compose", "发送"},
		"to_lines":         {"Recipients, one a line", "收件人，每行一个"},
		"by_user":          {"ids of users", "用户编号"},
		"by_address":       {"addresses, such as phone numbers", "地址，例如手机号"},
		"send_help":        {"It is handed in at once. It can be cancelled as long as it has not been sent.", "确认后立即受理；尚未发出的可以撤销。"},
		"send_now":         {"Send it", "确认发送"},
		"handed_in":        {"It is handed in.", "已受理。"},
		"send_test":        {"Send the test", "发出测试"},
	}
}
