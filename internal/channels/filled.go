package channels

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/preset"
)

// filled is a channel whose config is made of its preset, where it names one and no driver: its config is the preset's fields then. What the
// channel of that name has of them stays where they are not given. With the version that the channel was made of all the rest stays too, and
// without one it becomes what the preset is now. A channel that names a driver is taken as it is.
func (s *Set) filled(ctx context.Context, ch posthouse.Channel) (posthouse.Channel, error) {
	old, oldErr := s.store.Channel(ctx, ch.Tenant, ch.Name)
	if ch.Preset == "" || ch.Driver != "" || s.presets == nil {
		if ch.Preset == "" {
			ch.PresetVersion = 0
		} else if oldErr == nil && old.Preset == ch.Preset {
			ch.PresetVersion = old.PresetVersion
		}
		return ch, nil
	}
	p, err := s.presets.Get(ctx, ch.Tenant, ch.Preset)
	if err != nil {
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			err = posthouse.Invalid("the channel cannot be stored", []posthouse.Problem{{Path: "preset", Message: fmt.Sprintf("is %.80q, which there is not: GET /v1/presets lists them", ch.Preset)}})
		}
		return ch, err
	}
	given, problems := preset.Given(ch.Config)
	var before map[string]any
	if oldErr == nil && old.Preset == ch.Preset {
		before = s.Masked(old).Config
	}
	fill, version := p.Fill, p.Version
	if before != nil && ch.PresetVersion == old.PresetVersion {
		fill, version = p.Refill, old.PresetVersion
	}
	config, more := fill(given, before)
	if err := posthouse.Invalid("the channel cannot be stored", append(problems, more...)); err != nil {
		return ch, err
	}
	ch.Driver, ch.Config, ch.PresetVersion = preset.Driver, config, version
	limited(&ch, p)
	return ch, nil
}

// limited gives a channel that names no limits those that the provider states.
func limited(ch *posthouse.Channel, p *preset.Preset) {
	channel, recipient := ch.Limits == nil, ch.RecipientLimits == nil
	for _, l := range p.Limits {
		switch {
		case l.Of == "recipient" && recipient:
			ch.RecipientLimits = append(ch.RecipientLimits, l.Limit)
		case l.Of == "channel" && channel:
			ch.Limits = append(ch.Limits, l.Limit)
		}
	}
}

// PresetOf is the preset of a channel as it is now, with the channel as it is shown. The preset is nil where the channel has none, or
// where it was deleted.
func (s *Set) PresetOf(ctx context.Context, tenant, name string) (posthouse.Channel, *preset.Preset, error) {
	ch, err := s.Get(ctx, tenant, name)
	if err != nil || ch.Preset == "" || s.presets == nil {
		return ch, nil, err
	}
	p, err := s.presets.Get(ctx, tenant, ch.Preset)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return ch, nil, nil
	}
	return ch, p, err
}
