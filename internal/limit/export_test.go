package limit

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// OpenRedisBy opens a Redis through a dialer, for one that listens nowhere.
func OpenRedisBy(dial func() (net.Conn, error), o RedisOptions) *Redis {
	return newRedis(&redis.Options{
		Addr:   "nowhere",
		Dialer: func(context.Context, string, string) (net.Conn, error) { return dial() },
		// None of a bubble's takers may wait for a connection: the client keeps the timers of such waits for all bubbles together.
		PoolSize: 1000,
	}, o)
}

// Keys is how many keys a Memory holds.
func (m *Memory) Keys() (n int) {
	for i := range m.shards {
		m.shards[i].Lock()
		n += len(m.shards[i].states)
		m.shards[i].Unlock()
	}
	return n
}
