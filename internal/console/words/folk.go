package words

// folkWords are the texts of the forms for people of the console and for keys.
func folkWords() map[string]Word {
	return map[string]Word{
		"person_add":       {"Add a person", "添加人员"},
		"person_name":      {"Name, by which the person signs in", "登录名"},
		"person_title":     {"Called on pages (empty: the name)", "显示名（留空则用登录名）"},
		"person_role":      {"Role in", "角色，租户"},
		"person_make":      {"Add, and make a link", "添加并生成登录链接"},
		"person_there":     {"there is a person of this name already", "已有同名人员"},
		"person_codes":     {"The person sets a password at the first sign-in, and one-time codes (TOTP) under My account; require_totp asks everybody for them.", "本人首次登录时设置密码，并在“我的账户”中开启动态验证码（TOTP）；设置 require_totp 后所有人都必须开启。"},
		"person_link":      {"Link for", "登录链接："},
		"person_link_help": {"It signs the person in once, is shown this once, and ends", "只能登录一次，只显示这一次，有效期至"},
		"person_new_link":  {"new link", "新链接"},
		"person_totp":      {"one-time codes", "动态验证码"},
		"role_viewer":      {"looks at everything, changes nothing", "只查看，不做任何改动"},
		"role_operator":    {"and decides about deliveries, pauses and resumes, changes duty dates", "另可处置投递、暂停和恢复、调整值班"},
		"role_sender":      {"and sends messages and campaigns", "另可发送消息和群发任务"},
		"role_admin":       {"and everything else", "另可做其他一切操作"},
		"copy":             {"Copy", "复制"},
		"copied":           {"Copied", "已复制"},
		"key_add":          {"New key", "新建密钥"},
		"key_for":          {"Name: which program has it", "名称：给哪个程序用"},
		"key_make":         {"Make the key", "生成密钥"},
		"key_made":         {"Key for", "密钥："},
		"key_once":         {"It is shown this once and is not kept: copy it now.", "只显示这一次，系统不保存，请立即复制。"},
		"scope_read":       {"reads everything, changes nothing", "只读，不能改动"},
		"scope_send":       {"reads, and sends messages and campaigns", "可读，可发送消息和群发任务"},
		"scope_admin":      {"does everything", "可做一切操作"},
	}
}
