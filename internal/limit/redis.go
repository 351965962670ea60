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
// decides by a script: all windows in one atomic call on the clock of Redis. A
// key goes when its longest window has passed.
//
// A Redis that loses its memory (restart without persistence, FLUSHALL, an
// eviction policy other than noeviction, failover to a replica that lags)
// forgets what was granted. Behind a Fallback the limit holds nevertheless.
// A call is never repeated, so permits whose answer is lost are not granted twice.
type Redis struct {
	client  *redis.Client
	script  *redis.Script
	prefix  string
	timeout time.Duration
}

// OpenRedis makes a Redis. It does not connect: the first call does.
func OpenRedis(o RedisOptions) (*Redis, error) {
	opts, err := redis.ParseURL(o.URL)
	if err != nil { // its text may hold the password
		return nil, posthouse.Errorf(posthouse.CodeInvalid,
			"the Redis URL can not be read: redis://user:password@host:6379/0 and rediss:// are allowed")
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

// Take is as Limiter says.
func (r *Redis) Take(ctx context.Context, key string, windows []posthouse.Limit, want int) (Grant, error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	if len(windows) == 0 {
		return Grant{N: max(0, want)}, nil
	}
	return r.ask(ctx, key, "take", max(0, want), windows)
}

// Peek is as Limiter says.
func (r *Redis) Peek(ctx context.Context, key string, windows []posthouse.Limit) (Grant, error) {
	if err := check(key, windows); err != nil {
		return Grant{}, err
	}
	return r.ask(ctx, key, "peek", 0, windows)
}

// Refund is as Limiter says.
func (r *Redis) Refund(ctx context.Context, key string, g Grant, n int) error {
	if n = min(n, g.N); n <= 0 || g.At.IsZero() {
		return nil
	}
	_, err := r.run(ctx, key, "refund", n, g.At.UnixMicro())
	return err
}

func (r *Redis) ask(ctx context.Context, key, verb string, want int, windows []posthouse.Limit) (Grant, error) {
	args := append(make([]any, 0, 2+3*len(windows)), verb, want)
	for _, w := range windows {
		per, step := grid(w)
		args = append(args, w.Max, per, step)
	}
	got, err := r.run(ctx, key, args...)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{N: int(got[0]), At: time.UnixMicro(got[1]).UTC(), Wait: time.Duration(got[2]) * time.Microsecond}
	if held := int(got[3]); held > 0 && held <= len(windows) {
		g.Held = windows[held-1]
	}
	return g, nil
}

// run runs the script; args begin with the verb.
func (r *Redis) run(ctx context.Context, key string, args ...any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	got, err := r.script.Run(ctx, r.client, []string{r.prefix + key}, args...).Int64Slice()
	if err == nil && len(got) != 4 {
		err = errors.New("the script answered in another form")
	}
	if err != nil {
		return nil, fmt.Errorf("%s permits of %q in Redis: %w", args[0], key, err)
	}
	return got, nil
}
