package catalog

// headings say where the lines go that a new front has for its sender.
func headings() []Sentence {
	return []Sentence{
		{"a try by hand", "手工试发"},
		{"the address", "地址"},
		{"the address, and the token", "地址和令牌"},
		{"the server's URL, and the device key", "服务器地址和设备 Key"},
		{"the server's URL, and the token of the application", "服务器地址和应用令牌"},
		{"the server's URL, and an access token", "服务器地址和访问令牌"},
		{"the server's URL, and the token", "服务器地址和令牌"},
		{"the server's address; then any user, and the password", "服务器地址；用户名任意；密码"},
		{"the webhook of the robot", "机器人的 Webhook 地址"},
		{"the webhook's URL", "Webhook 地址"},
		{"the address of the interface, instead of https://qyapi.weixin.qq.com", "接口地址（代替 https://qyapi.weixin.qq.com）"},
		{"the secret of the application; any corpid and agentid do", "应用的 Secret；corpid 和 agentid 可任意填写"},
		{"alertmanager.yml: the entry of its receivers, and the receiver of its route", "alertmanager.yml：receivers 里的一项，以及 route 的 receiver"},
		{"a mail in a file, by HTTP", "把邮件文件用 HTTP 发来"},
		{"this server takes no mail by SMTP: start it with", "本服务器没有打开 SMTP 收信，请这样启动"},
		{"msmtp, in /etc/msmtprc: cron, mail and mailx then send by it", "msmtp：写入 /etc/msmtprc，之后 cron、mail、mailx 都由它发送"},
		{"the recipient, for a sender that has no user and password", "收件地址：发送方不能填用户名和密码时用"},
		{"the same for one that wants no more than 64 characters before the @", "收件地址：发送方要求 @ 前不超过 64 个字符时用"},

		// Of lines that people type in the form of a front.
		{"%.80q is no name with a value: want NAME=VALUE, such as %s", "{1} 不是“名称=值”的写法，例如 {2}"},
		{"the word %.80q: want NAME=VALUE, %s=CHANNEL, %s=ROUTE or %s=LIST", "{1} 不是“名称=值”的写法：应为 标签=值、{2}=渠道、{3}=路由 或 {4}=名单"},
	}
}
