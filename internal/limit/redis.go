package limit

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/posthouse/posthouse"
)

//go:embed redis.lua
var redisScript string

// RedisOptions says which Redis keeps the states.
type RedisOptions struct {
	// URL is redis://user:password@host:6379/0, or rediss:// for TLS. Required.
	URL string
	// Prefix begins the name of every key. Defaults to "posthouse:limit:".
	Prefix string
	// Timeout bounds a call, dialling included. Defaults to 250ms.
	Timeout time.Duration
}

// Redis keeps the states in one Redis, version 5 or later, one hash a key, and
// decides by a script: all windows of all keys in one atomic call on the clock of
// Redis. A key goes when its longest window has passed.
//
// A Redis that loses its memory (restart without persistence, FLUSHALL, an
// eviction policy other than noeviction, failover to a replica that lags)
// forgets what was granted. Behind a Fallback the limit holds nevertheless.
// A call is never repeated, so permits whose answer is lost are not granted twice.
type Redis struct {
	client  client
	script  *redis.Script
	prefix  string
	timeout time.Duration
}

// client is what is asked of a *redis.Client. As the type of a field that one would have the compiler write some 1,500 methods anew into each
// package from which this one is reached, 2 seconds of the processor for each.
type client interface {
	redis.Scripter
	Ping(ctx context.Context) *redis.StatusCmd
	Close() error
}

// OpenRedis makes a Redis. It does not connect: the first call does.
func OpenRedis(o RedisOptions) (*Redis, error) {
	opts, err := redis.ParseURL(o.URL)
	if err != nil { // its text may hold the password
		return nil, posthouse.Errorf(posthouse.CodeInvalid,
			"the Redis URL cannot be read: redis://user:password@host:6379/0 and rediss:// are allowed")
	}
	return newRedis(opts, o), nil
}

func newRedis(opts *redis.Options, o RedisOptions) *Redis {
	r := &Redis{script: redis.NewScript(redisScript), prefix: o.Prefix, timeout: o.Timeout}
	if r.prefix == "" {
		r.prefix = "posthouse:limit:"
	}
	if r.timeout <= 0 {
		r.timeout = 250 * time.Millisecond
	}
	opts.ContextTimeoutEnabled = true
	opts.DialTimeout = r.timeout
	opts.DialerRetries = 1
	opts.MaxRetries = -1 // a repeated Take would take twice
	opts.PipelinePoolSize = -1
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	r.client = redis.NewClient(opts)
	return r
}

// Close closes the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Ping asks whether it answers.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.client.Ping(ctx).Err()
}

// Take is as Limiter says.
func (r *Redis) Take(ctx context.Context, bounds []Bound, want int) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	return r.ask(ctx, "take", max(0, want), bounds)
}

// Peek is as Limiter says.
func (r *Redis) Peek(ctx context.Context, bounds []Bound) (Grant, error) {
	bounds, err := kept(bounds)
	if err != nil {
		return Grant{}, err
	}
	if len(bounds) == 0 {
		return Grant{N: maxMax}, nil
	}
	return r.ask(ctx, "peek", 0, bounds)
}

// Refund is as Limiter says.
func (r *Redis) Refund(ctx context.Context, g Grant, n int) error {
	n, some := g.back(n)
	if !some {
		return nil
	}
	args := []any{"refund", n}
	for _, s := range g.Stamps {
		args = append(args, s.At.UnixMicro())
	}
	_, err := r.run(ctx, g.keys(), args)
	return err
}

// RefundEach is as Limiter says, by one call for each grant.
func (r *Redis) RefundEach(ctx context.Context, list []Back) error {
	return oneByOne(ctx, r, list)
}

func (r *Redis) ask(ctx context.Context, verb string, want int, bounds []Bound) (Grant, error) {
	args := []any{verb, want}
	for _, b := range bounds {
		args = append(args, len(b.Windows))
		for _, w := range b.Windows {
			per, step := grid(w)
			args = append(args, w.Max, per, step)
		}
	}
	got, err := r.run(ctx, keysOf(bounds), args)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{N: int(got[0]), Wait: time.Duration(got[1]) * time.Microsecond, At: timeOf(got[4])}
	if k, w := int(got[2])-1, int(got[3])-1; k >= 0 && w >= 0 {
		g.Held, g.Key = bounds[k].Windows[w], bounds[k].Key
	}
	for i, at := range got[4:] {
		if verb == "take" && g.N > 0 {
			g.Stamps = append(g.Stamps, Stamp{bounds[i].Key, timeOf(at)})
		}
	}
	return g, nil
}

// run runs the script; args begin with the verb.
func (r *Redis) run(ctx context.Context, keys []string, args []any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = r.prefix + key
	}
	got, err := r.script.Run(ctx, r.client, names, args...).Int64Slice()
	if err == nil && len(got) != 4+len(keys) {
		err = errors.New("the script answered in another form")
	}
	if err != nil {
		return nil, fmt.Errorf("%s permits of %s in Redis: %w", args[0], list(keys), err)
	}
	return got, nil
}
