package server_test

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse/wire"
)

// CAMP-7: what a campaign starts moves the watermark as single messages do: only so is a database noticed that went back to a backup in
// which those who were sent to since are unsent.
func TestCAMP7_ACampaignMovesTheWatermark(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.mp("mp", nil)
		mark := func() (text string) {
			h.must(h.db.QueryRowContext(h.Context(), "SELECT value FROM posthouse_meta WHERE name = 'watermark'").Scan(&text))
			return text
		}
		before := mark()
		for n := range 2 { // the second begins when nothing else has moved it any more
			h.crowd(fmt.Sprint("spring-", n), []string{"a", "b", "c"}, wire.CampaignDraft{})
			h.eventually("the watermark has risen", func() bool { return mark() != before })
			before = mark()
		}
	})
}
