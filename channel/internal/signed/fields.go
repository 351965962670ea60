package signed

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// The names of the fields.
const (
	tokenField = "callback_token"
	keyField   = "callback_aes_key"
)

// Fields are those that a driver needs to be called back.
func Fields() []channel.Field {
	callbacks := channel.Group{Label: "Callbacks of the provider", LabelZH: "平台回调"}
	return []channel.Field{{
		Name: tokenField, Group: callbacks, Kind: channel.KindSecret, Account: true, Label: "Callback token", LabelZH: "回调 Token",
		Help:   "The Token that callbacks are signed with, as it stands beside the callback address at the provider. Without one no callback is taken.",
		HelpZH: "与平台后台回调配置中的 Token 一致，用于校验回调签名；不填则不接收回调。",
	}, {
		Name: keyField, Group: callbacks, Kind: channel.KindSecret, Account: true, Label: "EncodingAESKey", LabelZH: "EncodingAESKey",
		Help:   "The EncodingAESKey of encrypted callbacks, 43 letters and digits. With one, callbacks in clear are refused: nothing signs their body.",
		HelpZH: "消息加密密钥（43 位字母数字）。填写后拒绝明文回调，因为明文消息体没有签名。",
	}}
}

// Check finds what is wrong with the fields.
func Check(c channel.Config) []posthouse.Problem {
	key := c.String(keyField)
	if key == "" {
		return nil
	}
	if c.String(tokenField) == "" {
		return []posthouse.Problem{{Path: tokenField, Message: "is required with " + keyField + ": it signs the callbacks"}}
	}
	if _, err := KeyOf(key); err != nil {
		return []posthouse.Problem{{Path: keyField, Message: err.Error()}}
	}
	return nil
}

// Has reports whether there are callbacks.
func Has(c channel.Config) bool { return c.Has(tokenField) }

// Of is the lock of a configuration.
func Of(c channel.Config, receiver string) (*Lock, error) {
	return New(c.String(tokenField), c.String(keyField), receiver)
}
