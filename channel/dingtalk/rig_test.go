package dingtalk_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
)

// open opens a driver that may reach the fake providers; set changes what it gets of the house.
func open(t *testing.T, kind channel.Type, config map[string]any, set ...func(*channel.Env)) channel.BatchDriver {
	t.Helper()
	c, problems := kind.Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{
		KeepAnswers: true,
		Tenant:      "t1", Channel: "c1", Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true},
	}
	for _, s := range set {
		s(&env)
	}
	d, err := kind.Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d.(channel.BatchDriver)
}

// codes overrides the class of codes.
func codes(own map[string]posthouse.Class) func(*channel.Env) {
	return func(env *channel.Env) { env.Codes = own }
}

// to is a message to some addresses; an empty one is a user without.
func to(addresses ...string) []channel.Outgoing {
	message := posthouse.NewID()
	outs := make([]channel.Outgoing, len(addresses))
	for i, address := range addresses {
		id := posthouse.DeliveryID(message, i+1)
		outs[i] = channel.Outgoing{
			Message: message, Delivery: id, IdemKey: id, Attempt: 1,
			Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", i+1), Address: address},
			Content:   posthouse.Content{Title: "进站提醒", Text: "请提前准备"},
		}
	}
	return outs
}

// answers is a driver whose provider always answers so.
func answers(t *testing.T, kind channel.Type, config func(url string) map[string]any, body string, set ...func(*channel.Env)) channel.BatchDriver {
	t.Helper()
	p := channeltest.NewProvider(t, channeltest.Reply(200, body))
	return open(t, kind, config(p.URL), set...)
}

func query(t *testing.T, target string) url.Values {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}
