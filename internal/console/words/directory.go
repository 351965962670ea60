package words

// bookWords are the texts of the page of the directory.
func bookWords() map[string]Word {
	return map[string]Word{
		"directory":         {"Directory", "通讯录"},
		"book_search":       {"Part of an id or name, or an address", "编号或姓名的一部分，或完整地址"},
		"book_user":         {"User", "用户"},
		"book_name":         {"Name", "姓名"},
		"book_type":         {"Type", "类型"},
		"book_role":         {"Role", "角色"},
		"book_addresses":    {"Reached at", "联系地址"},
		"book_zone":         {"Time zone", "时区"},
		"book_language":     {"Language", "语言"},
		"book_manager":      {"Manager", "上级"},
		"book_lacks":        {"Without an address in", "缺少地址的渠道"},
		"book_lacks_all":    {"any channel", "所有渠道都没有"},
		"book_none":         {"no address", "没有地址"},
		"book_none_help":    {"Without an address a channel reaches the user by the id, where its provider knows it.", "没有地址时，渠道按用户编号发送（前提是平台认识该编号）。"},
		"book_empty":        {"The directory is empty.", "通讯录是空的。"},
		"book_none_found":   {"Nobody was found.", "没有找到。"},
		"book_more":         {"The search has not come to the end of the directory:", "通讯录尚未找完："},
		"book_import":       {"Import CSV", "导入 CSV"},
		"book_import_help":  {"The columns are id, name, type, roles (with ; between them), time_zone, language, manager, and one for each channel, which holds the address there. Users who are there already are replaced: what has no column is empty then.", "列：id、name、type、roles（多个用 ; 分隔）、time_zone、language、manager，另为每个渠道加一列，填写该渠道的地址。已有的用户会被整条替换，文件中没有的列会被清空。"},
		"book_prune":        {"Delete everybody who is not in the file", "删除文件中没有的用户"},
		"book_no_file":      {"choose a file, or paste its text", "请选择文件，或粘贴内容"},
		"book_added":        {"New", "新增"},
		"book_gained":       {"Users who get an address on", "新增地址的用户，渠道"},
		"book_lost":         {"Users who lose their address on", "失去地址的用户，渠道"},
		"book_changed":      {"Changed", "有变化"},
		"book_removed":      {"Deleted", "将删除"},
		"book_kept":         {"Stay as they are", "不变"},
		"book_import_alert": {"It counts at once for messages that are handed in from now on. What is replaced is gone.", "保存后立即对之后受理的消息生效；被替换的内容无法找回。"},
		"csv_file":          {"File, in UTF-8", "文件（UTF-8 编码）"},
		"csv_text":          {"or its text", "或直接粘贴内容"},
		"would_change":      {"What it will change", "将要变更"},
		"nothing_changes":   {"Nothing would change.", "没有任何变化。"},
	}
}
