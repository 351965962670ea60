package words

// templateWords are the texts of the page of a template.
func templateWords() map[string]Word {
	return map[string]Word{
		"new_template":   {"New template", "新建模板"},
		"tpl_name":       {"Name of the template, which messages name it by", "模板名称（发送消息时使用）"},
		"tpl_text_help":  {"${name} stands for a variable of the message. A preview and versions are on its page.", "${name} 表示消息中的变量。保存后可在模板页预览、对比版本。"},
		"tpl_type":       {"Type of what it makes", "内容类型"},
		"tpl_own_type":   {"the channel's own", "按渠道默认"},
		"tpl_extra":      {"What only the provider knows (JSON)", "平台专有内容（JSON）"},
		"tpl_extra_help": {"Such as a card with its buttons, in the provider's own form; its strings may have ${name}. ${ack_key} is what the button of a card tells back by which a notification is acknowledged.", "例如平台格式的卡片及其按钮，其中的字符串可用 ${name}。在按钮里填 ${ack_key}，点击按钮即确认通知。"},
		"tpl_uses":       {"What sends by it", "使用它的路由、汇总、接入端、群发任务、定时和提醒"},
		"tpl_unused":     {"none", "无"},
		"tpl_versions":   {"Version", "版本"},
		"tpl_with":       {"Compared with version", "对比版本"},
		"tpl_compare":    {"Compare", "对比"},
		"tpl_difference": {"Difference", "差异"},
		"tpl_same":       {"They say the same.", "内容相同。"},
		"tpl_first":      {"There is one version.", "只有一个版本。"},
		"tpl_gone":       {"only in the other version:", "仅在对比版本中："},
		"tpl_new":        {"only in this version:", "仅在此版本中："},
		"tpl_try":        {"Text and sample", "内容与预览"},
		"tpl_payload":    {"Variables (JSON)", "变量（JSON）"},
		"tpl_bounds":     {"Bounds of the channel", "按渠道的长度限制检查"},
		"tpl_look":       {"Show what it makes", "预览"},
		"tpl_made":       {"What the recipient reads", "收件人看到的内容"},
		"tpl_store":      {"Store as a new version", "保存为新版本"},
		"tpl_store_help": {"Messages that are handed in from now on read like this. Older ones stay as they are.", "之后受理的消息使用新内容，已受理的不变。"},
		"tpl_characters": {"characters", "字符"},
		"tpl_bytes":      {"bytes", "字节"},
		"tpl_none":       {"none", "不检查"},

		"tpl_language":       {"Language", "语言"},
		"tpl_languages":      {"In other languages", "其他语言"},
		"tpl_languages_help": {"A recipient gets the language that the directory has, or else the tenant's, or else the template's own. posthouse template set stores them.", "按通讯录中收件人的语言选用，没有则用租户的语言，再没有则用模板默认内容。可用 posthouse template set 保存。"},
		"tpl_reads":          {"As read in", "按此语言预览"},
		"tpl_typed":          {"as typed above", "上面填写的内容"},
	}
}
