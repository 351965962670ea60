package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/server"
)

// slow is a provider that answers when the test says so.
type slow struct {
	began  chan string // users of the sends, as they begin
	answer chan struct{}
}

func (s *slow) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	s.began <- out.Recipient.User
	select {
	case <-s.answer:
		return channel.Result{Class: posthouse.ClassOK}
	case <-ctx.Done():
		return channel.Result{Class: posthouse.ClassUnknown, Error: "cut off"}
	}
}

func (s *slow) driver() channel.Type {
	return channel.Type{
		Name: "slow", Title: "Slow", TitleZH: "慢", Doc: "Answers when the test says so.", DocZH: "由测试决定何时应答。", MaxBatch: 1,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return s, nil },
	}
}

// caller is a client in the middle of its request: the server waits for the rest of the body.
type caller struct {
	net.Conn
	in   *bufio.Reader
	rest string
}

// beginsToSend has a client hand in half of a message to a user.
func (h *house) beginsToSend(user string) *caller {
	h.Helper()
	var d net.Dialer
	conn, err := d.DialContext(h.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
	h.must(err)
	h.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf(`{"channel": "slow", "to": [{"user": %q}], "content": {"text": "hello"}}`, user)
	_, err = fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: house\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n%s",
		h.key, len(body), body[:9])
	h.must(err)
	c := &caller{conn, bufio.NewReader(conn), body[9:]}
	if status := c.reads(h); status != http.StatusContinue { // the server says so when it begins to read the body
		h.Fatalf("a request that has begun got %d, want 100", status)
	}
	return c
}

// reads is the status that the client is answered.
func (c *caller) reads(h *house) int {
	h.Helper()
	res, err := http.ReadResponse(c.in, nil)
	h.must(err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	h.must(err)
	return res.StatusCode
}

// closes waits until nobody listens at an address any more.
func (h *house) closes(url string) {
	h.Helper()
	var d net.Dialer
	h.eventually(url+" is closed", func() bool {
		conn, err := d.DialContext(h.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

// A phone without network does not take the time that sends have to end, a request that ends in time is still
// accepted, and what it brings is left to the next start.
func TestAClientThatStandsStillCutsNoSendAtTheStop(t *testing.T) {
	t.Parallel()
	provider := &slow{began: make(chan string, 10), answer: make(chan struct{})}
	h := open(t, databases[0].dsn(t), withSMS(func(s *server.SMS) { s.Addr = "127.0.0.1:0" }), func(o *server.Options) {
		o.Drain, o.Drivers = 30*time.Second, append(builtin.Types(), provider.driver())
	})
	settings := atOnce(time.Second)
	settings.Timeout = posthouse.Duration(time.Minute) // longer than the stop
	h.put(posthouse.Channel{Name: "slow", Driver: "slow", ChannelSettings: settings})
	_, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "slow", To: []posthouse.Recipient{{User: "early"}}, Content: &posthouse.Content{Text: "hello"}})
	h.must(err)
	<-provider.began
	still, late := h.beginsToSend("nobody"), h.beginsToSend("late")
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop(context.WithoutCancel(t.Context())) }()
	h.closes(h.url)
	h.closes(h.smsURL) // the other address does not wait for the client of the first
	_, err = io.WriteString(late, late.rest)
	h.must(err)
	if status := late.reads(h); status != http.StatusAccepted {
		t.Errorf("a request that ended in time got %d, want 202", status)
	}
	if _, err := still.in.ReadByte(); err == nil {
		t.Error("the client that stands still was answered")
	}
	<-time.After(300 * time.Millisecond) // the send ends later than that client's share of the stop
	close(provider.answer)
	h.must(<-stopped)
	if h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE user_id = 'early' AND state = 'sent'") != 1 {
		t.Error("the send under way was cut off")
	}
	if h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE user_id = 'late' AND state = 'pending' AND token = 0") != 1 {
		t.Error("what was accepted at the stop was claimed, want it left for others")
	}
}
