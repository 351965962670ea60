package words

// codeWords are the texts of one-time codes.
func codeWords() map[string]Word {
	return map[string]Word{
		"codes":          {"One-time codes", "动态验证码"},
		"codes_on":       {"Signing in takes a one-time code beside the password or link.", "登录时除密码或链接外，还需要动态验证码。"},
		"codes_none":     {"Only the password or a link is asked for at the sign-in. A code from your phone makes a stolen password useless.", "目前登录只需要密码或链接。开启动态验证码后，即使密码泄露，别人也无法登录。"},
		"codes_set_up":   {"Set up one-time codes", "开启动态验证码"},
		"codes_change":   {"Recovery codes, or turn codes off", "管理恢复码，或关闭验证码"},
		"codes_required": {"One-time codes are required here: set them up to go on.", "本系统要求使用动态验证码，请先完成设置。"},
		"codes_scan":     {"Scan this with an authenticator app, such as Microsoft Authenticator, FreeOTP or 1Password, then type the code that it shows.", "用身份验证器应用扫描二维码（如微软 Authenticator、FreeOTP、1Password），再填写应用显示的验证码。"},
		"codes_secret":   {"Or type this secret there:", "无法扫描时，可手动输入密钥："},
		"codes_link":     {"Open it on this device", "在本机的验证器中打开"},
		"codes_qr":       {"QR code for the authenticator", "供验证器扫描的二维码"},
		"code":           {"Code of six digits", "6 位验证码"},
		"code_or_spare":  {"Code of six digits, or a recovery code", "6 位验证码，或恢复码"},
		"code_wanted":    {"Type the code that your authenticator shows.", "请填写身份验证器显示的验证码。"},
		"code_lost":      {"Without phone and recovery codes, an administrator turns codes off:", "手机和恢复码都没有时，请管理员关闭验证码："},
		"code_wrong":     {"The code is wrong, or was used already: wait for the next one.", "验证码不对或已用过，请等下一个。"},
		"code_held":      {"Too many wrong codes. For a day only a recovery code is taken.", "错误次数太多，一天之内只能使用恢复码。"},
		"sign_in_over":   {"The sign-in took too long: begin it again.", "登录超时，请重新登录。"},
		"spare_codes":    {"Recovery codes", "恢复码"},
		"spare_help":     {"Each signs you in once, in place of a code. They are shown this once: keep them where you find them without your phone.", "每个恢复码可代替验证码登录一次。只显示这一次，请保存在手机以外的地方。"},
		"spare_left":     {"Recovery codes that are left:", "剩余恢复码："},
		"spare_renew":    {"Make other recovery codes", "重新生成恢复码"},
		"spare_renewing": {"The codes until now end.", "原有的恢复码将失效。"},
		"codes_off":      {"Turn one-time codes off", "关闭动态验证码"},
		"codes_off_help": {"After that the password or a link alone signs you in.", "关闭后，仅凭密码或链接即可登录。"},
		"codes_off_said": {"One-time codes are off.", "动态验证码已关闭。"},
		"oidc_sign_in":   {"Sign in with your organisation's account", "使用统一身份认证登录"},
		"oidc_over":      {"The sign-in was begun in another browser, or too long ago: begin it again.", "登录已超时，或不是在此浏览器中发起的，请重新登录。"},
		"oidc_away":      {"The identity provider does not answer as it should. Try again, or tell an administrator: the log says more.", "身份认证服务没有正常应答，请稍后再试或联系管理员，详情见日志。"},
		"oidc_taken":     {"Somebody here has your name already, whom the identity provider does not know. An administrator has to delete that person first:", "这里已有同名的本地人员，请管理员先将其删除："},
		"oidc_person":    {"Your organisation's identity provider lets you in, and says your roles at each sign-in.", "您通过统一身份认证登录，每次登录时由其给出角色。"},
		"go_on":          {"Go on", "继续"},
	}
}
