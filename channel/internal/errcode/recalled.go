package errcode

import (
	"time"

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

// clocksApart is how far a provider's clock may be from ours, with the way of a call's answer.
const clocksApart = time.Minute

// RecalledWithin is Recalled of a provider that takes messages back for a while and names no code for what is older: what it refuses as
// that while ends, by our clock, is too old by its own.
func RecalledWithin(c posthouse.Class, sent time.Time, within time.Duration) channel.Recalled {
	if c == posthouse.ClassRequest && time.Since(sent) >= within-clocksApart {
		return channel.RecallLate
	}
	return Recalled(c)
}
