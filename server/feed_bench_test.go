package server_test

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/server"
)

// BenchmarkFeed is the whole flow of a message, accepted in batches of 100 and sent at once, with nobody who follows the feed
// and with one who takes every event: wall time and this process's processor time for a message. FLEET-2 wants at most 5 % more.
func BenchmarkFeed(b *testing.B) {
	for _, d := range databases {
		for _, following := range []bool{false, true} {
			name := d.name + "/alone"
			if following {
				name = d.name + "/followed"
			}
			b.Run(name, func(b *testing.B) { flowOf(b, d.dsn(b), following) })
		}
	}
}

// swallow is a provider that takes everything at once.
type swallow struct {
	n    atomic.Int64
	want int64
	done chan struct{}
}

func (s *swallow) Send(context.Context, channel.Outgoing) channel.Result {
	if s.n.Add(1) == s.want {
		close(s.done)
	}
	return channel.Result{Class: posthouse.ClassOK}
}

func flowOf(b *testing.B, dsn string, following bool) {
	provider := &swallow{want: int64(b.N), done: make(chan struct{})}
	s, err := server.New(b.Context(), server.Options{
		DSN: dsn, NoListen: true, Keyring: keyring, Log: slog.New(slog.DiscardHandler), Output: io.Discard,
		Drivers: []channel.Type{{Name: "swallow", Title: "Swallow", Doc: "Takes all.", Window: channel.Forever, Open: func(channel.Config, channel.Env) (channel.Driver, error) { return provider, nil }}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop(context.WithoutCancel(b.Context()))
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := s.PutChannel(b.Context(), "", posthouse.Channel{Name: "out", Driver: "swallow", ChannelSettings: posthouse.ChannelSettings{MaxInflight: 1000}}); err != nil {
		b.Fatal(err)
	}
	told := make(chan struct{})
	if following {
		begun, cancel := context.WithTimeout(b.Context(), time.Second)
		_ = s.Follow(begun, "", func([]posthouse.FeedEvent) error { return nil }) // from here on the feed is written
		cancel()
		go func() {
			n := 0
			_ = s.Follow(b.Context(), posthouse.FeedPosition{}.String(), func(events []posthouse.FeedEvent) error {
				if n += len(events); n >= 3*b.N {
					close(told)
					return io.EOF
				}
				return nil
			})
		}()
	} else {
		close(told)
	}
	b.ResetTimer()
	began := processor()
	for left := b.N; left > 0; left -= 100 {
		drafts := make([]posthouse.Draft, min(left, 100))
		for i := range drafts {
			drafts[i] = posthouse.Draft{Channel: "out", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "hello"}}
		}
		if _, err := s.Accept(b.Context(), "", drafts...); err != nil {
			b.Fatal(err)
		}
	}
	<-provider.done
	<-told
	b.ReportMetric(float64(processor()-began)/float64(b.N), "cpu-ns/message")
}

// processor is how long this process has computed so far.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // there is always one's own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
