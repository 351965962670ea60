package email

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/mailbox"
)

// How a connection is protected.
const (
	startTLS      = "starttls"      // begins in clear, and goes on in TLS or not at all: RFC 3207
	implicit      = "implicit"      // TLS from the first byte: RFC 8314
	opportunistic = "opportunistic" // TLS where the server offers it
)

// mostBytes is the largest file and text of a mail, before its encoding makes a third more of it. Servers often take 10 to 25 MiB.
const mostBytes = 7 << 20

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name: "email", Title: "Mail", TitleZH: "邮件",
		Doc:       "Sends mail by SMTP, one message to each recipient.",
		DocZH:     "通过 SMTP 发送邮件，每个收件人一封。",
		Fields:    fields(),
		MaxBatch:  1,
		Callbacks: true,
		Answers:   true,
		Receipts:  func(channel.Config) bool { return false }, // it hears of what comes back alone
		Timeout:   30 * time.Second,
		// Ours: what a mailbox of a hoster usually bears. A relay of one's own takes more.
		AccountLimits: []posthouse.Limit{{Max: 5, Per: posthouse.Duration(time.Second)}, {Max: 1000, Per: posthouse.Duration(time.Hour)}},
		Check:         check,
		Addresses:     channel.AddressMail,
		Address:       func(_ channel.Config, text string) (string, error) { return mailbox.Parse(text) },
		Content:       content,
		Open:          open,
	}
}

func fields() []channel.Field {
	greeting, oauth := channel.Group{Label: "Greeting of the server", LabelZH: "SMTP 握手"}, channel.Group{Label: "Sign in by OAuth", LabelZH: "OAuth 登录"}
	dkim, back := channel.Group{Label: "Signature (DKIM)", LabelZH: "DKIM 签名"}, channel.Group{Label: "Unsubscribing and bounces", LabelZH: "退订与退信"}
	return []channel.Field{{
		Name: "host", Kind: channel.KindString, Required: true, Destination: true, Label: "Server", LabelZH: "服务器",
		Help: "Such as smtp.example.com.", HelpZH: "例如 smtp.example.com。",
	}, {
		Name: "port", Kind: channel.KindInt, Max: 65535, Destination: true, Label: "Port", LabelZH: "端口",
		Help: "Defaults to 587, and to 465 with TLS from the first byte.", HelpZH: "默认 587；从第一个字节起加密时默认 465。",
	}, {
		Name: "tls", Kind: channel.KindChoice, Default: startTLS, Choices: []channel.Choice{
			{Value: startTLS, Label: "STARTTLS: begins in clear and goes on encrypted, or not at all", LabelZH: "STARTTLS（先明文连接再升级为加密，不支持则不发送）"},
			{Value: implicit, Label: "TLS from the first byte", LabelZH: "从第一个字节起加密（SSL）"},
			{Value: opportunistic, Label: "Encrypted where the server offers it", LabelZH: "服务器支持才加密"},
		}, Destination: true,
		Label: "TLS", LabelZH: "加密方式",
		Help: "A password is sent in clear to no server.", HelpZH: "密码绝不明文发送。",
	}, {
		Name: "username", Kind: channel.KindString, Account: true, Label: "User name", LabelZH: "用户名",
		Help: "Leave it out for a server that asks for none.", HelpZH: "服务器无需登录时留空。",
	}, {
		Name: "password", Kind: channel.KindSecret, Account: true, Label: "Password", LabelZH: "密码",
		Help:   "Many hosters want a password for applications here (授权码), and not the one of the mailbox.",
		HelpZH: "QQ 邮箱、163 等要求填写“授权码”，不是邮箱的登录密码。",
	}, {
		Name: "from", Kind: channel.KindString, Required: true, Account: true, Label: "From", LabelZH: "发件人",
		Help: "An address, or a name and an address: Duty Desk <duty@example.com>.", HelpZH: "邮箱地址，或名称加地址：值班台 <duty@example.com>。",
	}, {
		Name: "reply_to", Kind: channel.KindString, Account: true, Label: "Reply to", LabelZH: "回复地址",
	}, {
		Name: "hello", Group: greeting, Kind: channel.KindString, Default: "localhost", Label: "Name in EHLO", LabelZH: "EHLO 主机名",
		Help:   "The name of this server in the greeting. Some relays want one that leads back to its address.",
		HelpZH: "握手时报出的本机名称。部分中继要求该名称能反查到本机地址。",
	}, {
		Name: "oauth_url", Group: oauth, Kind: channel.KindURL, Label: "Token URL of OAuth", LabelZH: "OAuth 令牌地址",
		Help:   "Signs in by XOAUTH2 with an access token from here instead of the password.",
		HelpZH: "填写后用此处取得的访问令牌以 XOAUTH2 登录，不再使用密码。",
	}, {
		Name: "oauth_client_id", Group: oauth, Kind: channel.KindString, Label: "Client id of OAuth", LabelZH: "OAuth 客户端 ID",
	}, {
		Name: "oauth_client_secret", Group: oauth, Kind: channel.KindSecret, Label: "Client secret of OAuth", LabelZH: "OAuth 客户端密钥",
	}, {
		Name: "oauth_refresh_token", Group: oauth, Kind: channel.KindSecret, Account: true, Label: "Refresh token of OAuth", LabelZH: "OAuth 刷新令牌",
		Help:   "Leave it out to be given tokens for the client's own credentials.",
		HelpZH: "留空则使用客户端凭据模式（client credentials）取令牌。",
	}, {
		Name: "oauth_scope", Group: oauth, Kind: channel.KindString, Label: "Scope of OAuth", LabelZH: "OAuth 权限范围",
	}, {
		Name: "dkim_selector", Group: dkim, Kind: channel.KindString, Label: "DKIM selector", LabelZH: "DKIM 选择器",
		Help: "The name of the record in selector._domainkey.domain.", HelpZH: "DNS 记录 selector._domainkey.domain 中的 selector。",
	}, {
		Name: "dkim_domain", Group: dkim, Kind: channel.KindString, Label: "DKIM domain", LabelZH: "DKIM 域名",
		Help: "Defaults to the domain of from.", HelpZH: "默认为发件人地址的域名。",
	}, {
		Name: "dkim_key", Group: dkim, Kind: channel.KindSecret, Label: "DKIM key", LabelZH: "DKIM 私钥",
		Help:   "The private key in PEM, RSA of 2048 bits or more, or Ed25519. Leave it out where the server signs.",
		HelpZH: "PEM 格式的私钥：2048 位以上 RSA 或 Ed25519。由服务器签名时留空。",
	}, {
		Name: "unsubscribe", Group: back, Kind: channel.KindString, Label: "Address to unsubscribe", LabelZH: "退订邮箱",
		Help: "For the header List-Unsubscribe: a mailbox that takes such mail.", HelpZH: "用于 List-Unsubscribe 邮件头：接收退订邮件的邮箱。",
	}, {
		Name: "callback_url", Group: back, Kind: channel.KindString, Account: true, Label: "Callback URL", LabelZH: "回调地址",
		Help: "The public URL of the channel's callback address. Each mail then has a link by which mail programs unsubscribe with one click, and who does is suppressed. " +
			"Bounces and answers are posted to it too.",
		HelpZH: "本渠道回调地址的公网 URL。设置后每封邮件带一键退订链接，退订者进入禁发名单；退信和回信也投递到这里。",
	}, {
		Name: "callback_token", Group: back, Kind: channel.KindSecret, Account: true, Label: "Callback token", LabelZH: "回调令牌",
		Help:   "At least 16 characters that you choose. The links are signed with it, and who posts bounces shows it.",
		HelpZH: "自定的口令，至少 16 个字符：用于给退订链接签名，投递退信时也要携带。",
	}, {
		Name: "old_callback_token", Group: back, Kind: channel.KindSecret, Account: true, Label: "Callback token before", LabelZH: "上一个回调令牌",
		Help:   "The token that the present one has replaced. It keeps the unsubscribe links of earlier mails valid; bounces are not taken with it.",
		HelpZH: "更换回调令牌后填入原来的：此前邮件里的退订链接继续有效；不能再用于投递退信。",
	}}
}
