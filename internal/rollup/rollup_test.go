package rollup

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// The minutes cost each message far less than a microsecond: a key is a row once a second.
func BenchmarkRollup(b *testing.B) {
	u := New(nil, life.New(), nil)
	keys := make([]work.MinuteKey, 500)
	for i := range keys {
		keys[i] = work.MinuteKey{Tenant: "default", Channel: "wecom", Account: posthouse.NewID(), Type: "text", Outcome: "ok"}
	}
	for i := 0; b.Loop(); i++ {
		u.Add(keys[i%len(keys)], time.Millisecond, posthouse.Sent)
	}
}
