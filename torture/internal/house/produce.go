package house

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// Told is a line of the client's journal: what one caller asked, and what it was told.
type Told struct {
	At         time.Time `json:"at"`    // when the answer came
	Asked      time.Time `json:"asked"` // when the call began
	Op         string    `json:"op"`    // send, cancel
	Tenant     string    `json:"tenant"`
	Key        string    `json:"key,omitempty"`
	Body       string    `json:"body,omitempty"` // a hash, or anything equal for equal bodies
	Answer     string    `json:"answer"`         // accepted, replayed, refused, unknown, cancelled, too_late, already_final
	Status     int       `json:"status,omitempty"`
	Code       string    `json:"code,omitempty"`
	Message    string    `json:"message,omitempty"`
	Delivery   string    `json:"delivery,omitempty"`
	Recipients int       `json:"recipients,omitempty"`
}

// Tell notes one call.
func (h *House) Tell(t testing.TB, line Told) {
	t.Helper()
	if line.Tenant == "" {
		line.Tenant = posthouse.DefaultTenant
	}
	line.At, line.Asked = line.At.UTC(), line.Asked.UTC()
	h.told.write(t, line)
}

// Load is how many messages are sent, and how.
type Load struct {
	Messages int
	// Producers is how many callers wait for answers at once. Defaults to 16.
	Producers int
	// Prefix keeps the keys of several loads apart. Defaults to "load".
	Prefix string
	// Draft makes message n, counted from 1. Defaults to a text to user u<n> over the channel "generic".
	Draft func(n int) posthouse.Draft
	// Each is called after each accepted message with how many there are; one call at a time. Defaults to nothing.
	Each func(accepted int)
	// Once makes a caller give up after its first answer, good or bad. Defaults to false: a caller
	// repeats with the same key until it is told that its message is accepted.
	Once bool
}

// Text is a message of one line to one user.
func Text(channel string, n int) posthouse.Draft {
	return posthouse.Draft{Channel: channel, To: []posthouse.Recipient{{User: fmt.Sprintf("u%d", n)}}, Content: &posthouse.Content{Text: "hello"}, Ref: fmt.Sprint(n), Kind: "torture"}
}

// Produce sends a load to random members and returns the ids of the accepted messages by number; it
// returns when every caller has its answer.
func (h *House) Produce(t testing.TB, l Load) map[int]string {
	t.Helper()
	if l.Producers == 0 {
		l.Producers = 16
	}
	if l.Prefix == "" {
		l.Prefix = "load"
	}
	if l.Draft == nil {
		l.Draft = func(n int) posthouse.Draft { return Text("generic", n) }
	}
	var next atomic.Int64
	var mu sync.Mutex
	accepted := map[int]string{}
	var wg sync.WaitGroup
	for range l.Producers {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= l.Messages && t.Context().Err() == nil; n = int(next.Add(1)) {
				id, err := h.Send(t, fmt.Sprintf("%s-%d", l.Prefix, n), l.Draft(n), l.Once)
				if err != nil {
					if !l.Once {
						t.Errorf("message %d: %v", n, err)
						return
					}
					continue
				}
				mu.Lock()
				accepted[n] = id
				if l.Each != nil {
					l.Each(len(accepted))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return accepted
}

// Through makes callers call an address in front of the members from now on, in place of one of them.
func (h *House) Through(t testing.TB, addr string) {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://" + addr, Key: h.Key, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	h.proxy = c
}

// callLimit is how long one call may take: past it its outcome is not known.
const callLimit = 10 * time.Second

// Send hands in one message with a key and notes each answer in the journal. Unless once is set, it
// repeats until the message is accepted or can never be.
func (h *House) Send(t testing.TB, key string, d posthouse.Draft, once bool) (id string, err error) {
	t.Helper()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for try := rand.IntN(len(h.Members)); ; try++ {
		quick := h.proxy
		if quick == nil {
			quick = h.Members[try%len(h.Members)].quick
		}
		line := Told{Asked: time.Now(), Op: "send", Key: key, Body: key, Recipients: len(d.To)}
		call, cancel := context.WithTimeout(t.Context(), callLimit)
		sent, err := quick.Messages.SendOnce(call, key, d)
		cancel()
		line.At, line.Answer = time.Now(), "accepted"
		if err == nil {
			line.Status, line.Message = 202, sent.Accepted[0].ID
			if sent.Replayed {
				line.Answer = "replayed"
			}
			h.Tell(t, line)
			return line.Message, nil
		}
		code := posthouse.CodeOf(err)
		final := refusal(code)
		line.Code, line.Answer = string(code), "unknown"
		if final || code == posthouse.CodeUnavailable || code == posthouse.CodeStorageFull {
			line.Answer = "refused"
		}
		h.Tell(t, line)
		if final || once {
			return "", err
		}
		select {
		case <-pause.C:
		case <-t.Context().Done():
			return "", t.Context().Err()
		}
	}
}

// refusal reports whether a code says that the message can never be accepted.
func refusal(code posthouse.Code) bool {
	return code == posthouse.CodeInvalid || code == posthouse.CodeKeyReused
}
