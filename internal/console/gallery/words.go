package gallery

import "github.com/posthouse/posthouse/internal/console/words"

func texts() map[string]words.Word {
	return map[string]words.Word{
		"presets":             {"Presets", "预设"},
		"presets_help":        {"What is known of providers: choose one, give what it asks for, and the channel sends.", "已了解的平台：选择一个，填写所需信息，即可发送。"},
		"preset_search":       {"Provider, or what it does", "平台名称或用途"},
		"presets_none":        {"No preset has these words.", "没有匹配的预设。"},
		"presets_none_help":   {"Any HTTP interface can be configured by hand, or written as a preset of your own:", "任何 HTTP 接口都可以手动配置，也可以写成自己的预设："},
		"preset_chat":         {"Chats and robots", "群聊与机器人"},
		"preset_push":         {"Push to devices", "设备推送"},
		"preset_sms":          {"SMS", "短信"},
		"preset_alert":        {"On-call services", "告警值班平台"},
		"preset_own":          {"of this installation", "自行添加"},
		"preset_make":         {"Make a channel", "创建渠道"},
		"preset_origin":       {"Another origin, such as that of a proxy or the simulator", "替换接口地址的开头（代理、私有网关或模拟器）"},
		"preset_limits":       {"Limits, as the provider states them", "平台规定的限额"},
		"preset_limit_of":     {"counts", "统计对象"},
		"preset_of_channel":   {"the channel", "整个渠道"},
		"preset_of_recipient": {"each recipient", "每个收件人"},
		"preset_source":       {"Source", "来源"},
		"preset_unverified":   {"Not verified", "未经核实"},
		"preset_evidence":     {"Recorded requests and answers: documented, from its SDK or source, not verified", "录制的请求与响应：官方文档、SDK 或源码、未核实"},
		"preset_knows":        {"Codes whose meaning is known", "已知含义的错误码"},
		"preset_receipts":     {"The provider brings receipts: give it a callback address of the channel.", "平台会推送回执：请把渠道的回调地址配置到平台。"},
		"preset_links":        {"The provider's pages", "平台文档"},
		"preset_command":      {"By command", "使用命令"},
	}
}
