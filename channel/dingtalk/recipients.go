package dingtalk

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// noAddress answers a delivery whose recipient DingTalk cannot know.
func noAddress() channel.Result {
	return channel.Result{
		Class: posthouse.ClassRecipient, Code: codeNoAddress,
		Error: "the recipient has no DingTalk user id: give the user an address on this channel",
	}
}
