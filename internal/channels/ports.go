package channels

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Store keeps the channels.
type Store interface {
	reads
	writes
	looks
}

type reads interface {
	Channel(ctx context.Context, tenant, name string) (posthouse.Channel, error)
	Channels(ctx context.Context, tenant string) ([]work.ChannelRow, error)
	ChannelPage(ctx context.Context, tenant, cursor string, limit int) (list []work.ChannelRow, next string, err error)
	// ChannelsVersion changes whenever any channel does.
	ChannelsVersion(ctx context.Context) (int64, error)
}

type writes interface {
	PutChannel(ctx context.Context, now time.Time, ch posthouse.Channel) (stored posthouse.Channel, created bool, err error)
	DeleteChannel(ctx context.Context, now time.Time, tenant, name string) error
	PauseChannel(ctx context.Context, now time.Time, tenant, name string, paused bool, reason string, until time.Time) error
}

// looks is what a change or a test has to know besides.
type looks interface {
	Deliveries(ctx context.Context, f work.Filter) (list []posthouse.Delivery, next string, err error)
	// Gates lists the accounts that providers have refused, of a tenant or of all.
	Gates(ctx context.Context, tenant string) ([]work.Gate, error)
	Addresses(ctx context.Context, tenant, channel string, users []string) (map[string]string, error)
}

// Engine runs the channels. The engine's roles satisfy it.
type Engine interface {
	CheckChannel(ch posthouse.Channel, o state.Opened) error
	SetChannel(ch posthouse.Channel, o state.Opened) error
	RemoveChannel(tenant, name string)
	// ForgetChannel is RemoveChannel for one that is gone for good.
	ForgetChannel(tenant, name string)
	Resume(ctx context.Context, tenant, name string) error
}

// Keyring seals secrets and opens them. *secret.Keyring satisfies it.
type Keyring interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// TokenRows keeps sealed tokens for all processes. store.Tokens satisfies it.
type TokenRows interface {
	Token(ctx context.Context, name string, fits func(value string) bool,
		fetch func(context.Context) (value string, lasts time.Duration, err error)) (value string, lasts time.Duration, err error)
}
