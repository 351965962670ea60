package catalog

// calls are how calls of providers ended, as the kit of drivers says it (channel/reply.go).
func calls() []Sentence {
	return []Sentence{
		{"%s answered with a redirect, HTTP %d, which is not followed: check the URL", "{1} 返回重定向（HTTP {2}），不会跟随，请检查地址"},
		{"%s answered HTTP %d %s", "{1} 返回 HTTP {2}（{3}）"},
		{"%s answered with code %s", "{1} 返回错误码 {2}"},
		{"the call was given up", "调用已放弃"},
		{"this machine has no room for a connection to %s: %s", "本机无法再建立到 {1} 的连接：{2}"},
		{"the name %s could not be looked up: the name server does not answer", "无法解析域名 {1}：域名服务器没有应答"},
		{"the name %s could not be looked up", "无法解析域名 {1}"},
		{"%s did not answer within %s", "{1} 在 {2} 内没有应答"},
		{"TLS with %s failed: %s", "与 {1} 的 TLS 握手失败：{2}"},
		{"%s refused the connection", "{1} 拒绝连接"},
		{"connecting to %s took too long", "连接 {1} 超时"},
		{"no connection to %s: %s", "无法连接 {1}：{2}"},
		{"%s closed the connection before its answer was complete", "{1} 在应答完成前断开了连接"},
		{"%s could not be called: %s", "无法调用 {1}：{2}"},
	}
}
