package intake

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Misaddressed are those of recipients that a channel cannot reach, by their place, and why: they have no
// address that it takes, such as a phone number.
func (in *Intake) Misaddressed(ctx context.Context, tenant, channel string, to []posthouse.Recipient) (map[int]string, error) {
	r := in.o.Channels.Channel(tenant, channel)
	if r == nil || r.Opened.Address == nil {
		return nil, nil
	}
	known, err := in.addresses(ctx, tenant, []posthouse.Draft{{Channel: channel, To: to}})
	if err != nil {
		return nil, err
	}
	why := map[int]string{}
	for i := range to {
		if _, err := r.Address(to[i], known[channel]); err != nil {
			why[i] = err.Error()
		}
	}
	return why, nil
}
