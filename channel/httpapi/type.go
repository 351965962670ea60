package httpapi

import (
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse/channel"
)

// maxBatch bounds how many recipients a channel may put in one call.
const maxBatch = 1000

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name:  "httpapi",
		Title: "HTTP interface", TitleZH: "HTTP 接口",
		Doc:               "Calls any provider's HTTP interface. What to send and how to read the answer is configured here; no code is needed.",
		DocZH:             "调用任意平台的 HTTP 接口。请求内容和响应解析方式都在这里配置，无需编写代码。",
		Fields:            fields(),
		MaxBatch:          maxBatch,
		BatchSize:         func(c channel.Config) int { return c.Int("batch") },
		IdempotencyWindow: func(c channel.Config) time.Duration { return c.Duration("idempotency_window") },
		Names:             func(c channel.Config) []string { return newPlan(c).names() },
		Timeout:           10 * time.Second,
		Callbacks:         true,
		Receipts:          func(c channel.Config) bool { return c.Has("receipt_id") },
		Check:             check,
		Everyone: func(c channel.Config, out channel.Outgoing) string {
			return channel.EverybodyByWord(out, c.List("everybody"))
		},
		Address:     address,
		AddressesOf: addressesOf,
		Open:        open,
	}
}

// fields are those of a request and of its answer; what only some providers need is folded away.
func fields() []channel.Field {
	return slices.Concat(requestFields(), answerFields(),
		folded(channel.Group{Label: "Several recipients in one call", LabelZH: "一次调用多个收件人"}, batchFields()),
		folded(channel.Group{Label: "Access token", LabelZH: "访问令牌"}, tokenFields()),
		folded(channel.Group{Label: "Receipts", LabelZH: "送达回执"}, receiptFields()))
}

func folded(g channel.Group, list []channel.Field) []channel.Field {
	for i := range list {
		list[i].Group = g
	}
	return list
}

func requestFields() []channel.Field {
	request := channel.Group{Label: "More of the request: values, type, lists, repeated keys", LabelZH: "请求的更多设置：参数值、内容类型、列表、幂等"}
	return []channel.Field{{
		Name: "url", Kind: channel.KindURL, Required: true, Label: "URL", LabelZH: "接口地址",
		Help:   "May hold placeholders such as ${address} after the host.",
		HelpZH: "主机名之后可以使用占位符，例如 ${address}。",
	}, {
		Name: "addresses", Kind: channel.KindChoice, Label: "Addresses are", LabelZH: "地址类型",
		Default: asWritten, Choices: []channel.Choice{
			{Value: asWritten, Label: "As written: each spelling is another recipient", LabelZH: "按原样（写法不同即为不同收件人）"},
			{Value: phones, Label: "Phone numbers, sent as +8613800138002", LabelZH: "手机号，发送为 +8613800138002"},
			{Value: phonesCN, Label: "Phone numbers, those of mainland China sent as 13800138002", LabelZH: "手机号，大陆号码发送为 13800138002"},
			{Value: mail, Label: "Mail addresses, whose domain has no case", LabelZH: "邮箱，域名不区分大小写"},
		},
		Help:   "Says which spellings are one recipient, and how an address is sent.",
		HelpZH: "决定哪些写法是同一个收件人，以及地址如何发送。",
	}, {
		Name: "method", Kind: channel.KindChoice, Label: "Method", LabelZH: "请求方法",
		Default: http.MethodPost, Choices: methods(http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodGet),
	}, {
		Name: "headers", Kind: channel.KindSecrets, Account: true, Label: "Headers", LabelZH: "请求头",
		Help:   "Stored encrypted and never shown again. May hold placeholders.",
		HelpZH: "加密保存，不再显示。可以使用占位符。",
	}, {
		Name: "secrets", Kind: channel.KindSecrets, Account: true, Label: "Secrets", LabelZH: "密钥",
		Help:   "Values for ${secret.<name>} in the URL, headers and body. Stored encrypted and masked in every log.",
		HelpZH: "可在地址、请求头和请求体中用 ${secret.<名称>} 引用。加密保存，日志中一律打码。",
	}, {
		Name: "encoding", Kind: channel.KindChoice, Label: "Encoding of the body", LabelZH: "请求体编码",
		Default: "json", Choices: []channel.Choice{
			{Value: "json", Label: "JSON", LabelZH: "JSON"},
			{Value: "form", Label: "Form (URL-encoded)", LabelZH: "表单（URL 编码）"},
			{Value: "xml", Label: "XML", LabelZH: "XML"},
			{Value: "text", Label: "Plain text", LabelZH: "纯文本"},
		},
		Help:   "Decides how the values of placeholders are escaped.",
		HelpZH: "决定占位符的值如何转义。",
	}, {
		Name: "body", Kind: channel.KindText, Label: "Body", LabelZH: "请求体",
		Help:   `For example {"to": "${address}", "text": "${text}"}. Between quotes a value is escaped; without quotes a whole JSON value is put in.`,
		HelpZH: `例如 {"to": "${address}", "text": "${text}"}。引号内的值会自动转义；不加引号则填入完整的 JSON 值。`,
	}, {
		Name: "everybody", Group: request, Kind: channel.KindList, Label: "Words that call everybody", LabelZH: "@所有人的写法",
		Help:   "This provider calls everybody where such a word stands in a text, for example @channel. To send one takes the grant mention_all.",
		HelpZH: "出现在正文中即由平台通知所有人的写法，例如 @channel。发送者需要授权 mention_all。",
	}, {
		Name: "values", Group: request, Kind: channel.KindMap, Account: true, Label: "Values", LabelZH: "参数值",
		Help:   "Values for ${value.<name>}, which are no secrets.",
		HelpZH: "可用 ${value.<名称>} 引用的非敏感参数。",
	}, {
		Name: "content_type", Group: request, Kind: channel.KindString, Label: "Content type", LabelZH: "内容类型",
		Help:   "Defaults to the one of the encoding.",
		HelpZH: "默认按编码选择。",
	}, {
		Name: "separator", Group: request, Kind: channel.KindString, Label: "List separator", LabelZH: "列表分隔符", Default: ",",
		Help:   "Stands between the items of ${users}, ${addresses} and other lists, where they are not a JSON array.",
		HelpZH: "${users}、${addresses} 等列表不是 JSON 数组时，各项之间的分隔符。",
	}, {
		Name: "idempotency_header", Group: request, Kind: channel.KindString, Label: "Idempotency header", LabelZH: "幂等请求头",
		Help:   "The header that carries ${idempotency_key}, if the provider has one.",
		HelpZH: "平台支持幂等时，携带 ${idempotency_key} 的请求头名称。",
	}, {
		Name: "idempotency_window", Group: request, Kind: channel.KindDuration, Label: "Idempotency window", LabelZH: "幂等有效期",
		Help:   "How long the provider recognises a repeated key. Empty if it does not.",
		HelpZH: "平台在多长时间内识别重复的幂等键。不支持则留空。",
	}}
}

func answerFields() []channel.Field {
	answer := channel.Group{Label: "More of the answer: texts, waits, other codes", LabelZH: "响应的更多设置：文字、等待时间、其他错误码"}
	return []channel.Field{{
		Name: "success_path", Kind: channel.KindString, Label: "Success: where", LabelZH: "成功标志的位置",
		Help:   "A JSON path such as $.code, or a regular expression such as /^(OK|DUP)/. Without it every 2xx is a success.",
		HelpZH: "JSON 路径，例如 $.code；或正则表达式，例如 /^(OK|DUP)/。留空则所有 2xx 都算成功。",
	}, {
		Name: "success_values", Kind: channel.KindList, Label: "Success: values", LabelZH: "成功标志的取值",
		Help:   "What stands there on success, such as 0.",
		HelpZH: "成功时该位置的值，例如 0。",
	}, {
		Name: "id_path", Kind: channel.KindString, Label: "Message id", LabelZH: "平台消息编号的位置",
	}, {
		Name: "message_path", Kind: channel.KindString, Label: "Error message", LabelZH: "错误信息的位置",
	}, {
		Name: "codes", Kind: channel.KindMap, Label: "Meaning of codes", LabelZH: "错误码含义",
		Help:   "The class of each code: ok, transient, rate, auth, account, local, recipient, content, request or unknown, and a wait behind it where the provider names one: rate 10m. HTTP_404 names a status. \"310000 keywords\" is the code with that text in its message, \"* quota\" any code, and $.errors.to a value that the answer has ($.state=3 one that it is).",
		HelpZH: "每个错误码的类别：ok、transient、rate、auth、account、local、recipient、content、request 或 unknown；平台规定了等待时间时写在后面：rate 10m。HTTP 状态写作 HTTP_404。“310000 keywords”表示错误码加错误信息中的文字，“* quota”不限错误码，$.errors.to 表示响应中有该值（$.state=3 表示等于该值）。",
	}, {
		Name: "success_text", Group: answer, Kind: channel.KindString, Label: "Success: text", LabelZH: "成功时包含的文字",
		Help:   "For text answers: what the answer contains on success.",
		HelpZH: "文本响应：成功时响应包含的文字。",
	}, {
		Name: "code_path", Group: answer, Kind: channel.KindString, Label: "Error code", LabelZH: "错误码的位置",
		Help: "Defaults to where success is read.", HelpZH: "默认与成功标志的位置相同。",
	}, {
		Name: "retry_after_path", Group: answer, Kind: channel.KindString, Label: "Seconds to wait", LabelZH: "等待秒数的位置",
		Help: "Defaults to the Retry-After header.", HelpZH: "默认读取 Retry-After 响应头。",
	}, {
		Name: "other_codes", Group: answer, Kind: channel.KindChoice, Label: "Meaning of other codes", LabelZH: "其他错误码的含义",
		Default: "transient", Choices: classChoices(),
		Help: "The class of an error code that the table does not list.", HelpZH: "表中没有列出的错误码按此类别处理。",
	}, {
		Name: "server_errors", Group: answer, Kind: channel.KindChoice, Label: "HTTP 500, 502, 504", LabelZH: "HTTP 500、502、504",
		Default: "unknown", Choices: []channel.Choice{
			{Value: "unknown", Label: "Unknown: the message may have been accepted", LabelZH: "结果未知：消息可能已被接收"},
			{Value: "transient", Label: "Try again: the provider promises it was not accepted", LabelZH: "可以重试：平台保证未接收"},
		},
	}}
}

func batchFields() []channel.Field {
	return []channel.Field{{
		Name: "batch", Kind: channel.KindInt, Label: "Recipients in one call", LabelZH: "每次调用的收件人数",
		Default: 1, Min: 1, Max: maxBatch,
		Help: "Above 1 the body takes ${users} or ${addresses}.", HelpZH: "大于 1 时，请求体使用 ${users} 或 ${addresses}。",
	}, {
		Name: "results_path", Kind: channel.KindString, Label: "Results: where", LabelZH: "逐人结果的位置",
		Help:   "A JSON path to the list with a result for each recipient, or to an object whose names are the recipients; a * stands for any name. Without it the answer counts for all.",
		HelpZH: "逐个收件人结果的 JSON 路径：可以是列表，也可以是以收件人为键的对象；* 代表任意键。留空则整个响应对所有收件人生效。",
	}, {
		Name: "result_recipient", Kind: channel.KindString, Label: "Result: recipient", LabelZH: "结果：收件人",
		Help:   "Within a result: the address, user, delivery or idempotency key, such as $.mobile. Or key, where the results are an object whose names are the recipients.",
		HelpZH: "单条结果中的地址、用户、投递编号或幂等键，例如 $.mobile。结果是以收件人为键的对象时填 key。",
	}, {
		Name: "result_code", Kind: channel.KindString, Label: "Result: code", LabelZH: "结果：状态码",
		Help: "$ is the result itself.", HelpZH: "$ 表示结果本身。",
	}, {
		Name: "result_success", Kind: channel.KindList, Label: "Result: success values", LabelZH: "结果：成功取值",
		Help: "Defaults to the success values.", HelpZH: "默认与成功标志的取值相同。",
	}, {
		Name: "result_message", Kind: channel.KindString, Label: "Result: error message", LabelZH: "结果：错误信息",
	}, {
		Name: "result_id", Kind: channel.KindString, Label: "Result: message id", LabelZH: "结果：平台消息编号",
	}, {
		Name: "failed", Kind: channel.KindMap, Label: "Lists of the failed", LabelZH: "失败名单",
		Help:   "For answers that name only those who were not served: a JSON path to such a list with its class, $.invaliduser: recipient. A text with list separators counts as a list.",
		HelpZH: "响应只列出失败的收件人时使用：名单的 JSON 路径及其类别，例如 $.invaliduser: recipient。用列表分隔符连接的文字也视为名单。",
	}}
}
