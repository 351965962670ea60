package errcode

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Recalled is what a provider's answer to a recall says by its class alone.
func Recalled(c posthouse.Class) channel.Recalled {
	switch c {
	case posthouse.ClassOK:
		return channel.RecallDone
	case posthouse.ClassUnknown, "":
		return channel.RecallUnknown
	}
	return channel.RecallRefused
}
