package engine

import (
	"context"
	"log/slog"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
)

// gone are the addresses of channels that reach nobody any more, as the results of attempts say, with the providers' codes.
type gone map[state.Key]map[string]string

// note adds the address of a result that says so.
func (g gone) note(key state.Key, address string, r channel.Result) {
	if !r.Gone || address == "" {
		return
	}
	if g[key] == nil {
		g[key] = map[string]string{}
	}
	g[key][address] = r.Code
}

// suppress has nothing more sent to them. It is called after the results are stored: a crash before it costs one more send, which
// the provider answers in the same way.
func (g gone) suppress(ctx context.Context, sieve *suppress.Sieve, log *slog.Logger) {
	for key, reasons := range g {
		if err := sieve.Gone(ctx, key, reasons); err != nil {
			log.Warn("addresses that reach nobody any more cannot be suppressed: the next send to them says so again", "channel", key.Channel, "addresses", len(reasons), "error", err)
		}
	}
}
