package channels_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/secret"
)

// probe is a driver that keeps what it was opened with and counts its ends.
type probe struct{ closed int }

func (p *probe) Close() error { p.closed++; return nil }

func openerWith(t *testing.T, types ...channel.Type) *channels.Opener {
	t.Helper()
	p, err := channels.NewOpener(channels.OpenerOptions{Types: types, Keyring: ring(t, "one")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ring(t *testing.T, id string) *secret.Keyring {
	t.Helper()
	r, err := secret.Parse(id + ":" + base64.StdEncoding.EncodeToString([]byte("the 32 bytes of a key for tests.")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// probeType is a driver with a secret; env and config are what it was opened with last.
func probeType(d *probe, env *channel.Env, config *channel.Config) channel.Type {
	return channel.Type{
		Name: "probe", Timeout: 30 * time.Second, MaxBatch: 7,
		Fields: []channel.Field{{Name: "key", Kind: channel.KindSecret}},
		RecipientLimitsOf: func(c channel.Config) []posthouse.Limit {
			return []posthouse.Limit{{Max: len(c.String("key")), Per: posthouse.Duration(time.Hour)}}
		},
		Open: func(c channel.Config, e channel.Env) (channel.Driver, error) {
			*env, *config = e, c
			return d, nil
		},
	}
}

func TestAStoredChannelOpensWithWhatItsSettingsSay(t *testing.T) {
	t.Parallel()
	second := posthouse.Duration(time.Second)
	for name, c := range map[string]struct {
		settings posthouse.ChannelSettings
		timeout  time.Duration
		pulled   bool
	}{
		"the driver's time-out":    {posthouse.ChannelSettings{}, 30 * time.Second, false},
		"a time-out of its own":    {posthouse.ChannelSettings{Timeout: second}, time.Second, false},
		"how long an agent holds":  {posthouse.ChannelSettings{Timeout: second, Pull: true}, 30 * time.Second, true},
		"classes of its own codes": {posthouse.ChannelSettings{Codes: map[string]posthouse.Class{"7": posthouse.ClassTransient}}, 30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env channel.Env
			var config channel.Config
			d := &probe{}
			p := openerWith(t, probeType(d, &env, &config))
			ch := posthouse.Channel{Tenant: "bank", Name: "hook", Driver: "probe", Config: map[string]any{"key": "a secret"}, ChannelSettings: c.settings}
			stored, err := p.Sealed(ch)
			if err != nil {
				t.Fatal(err)
			}
			if text := stored.Config["key"].(string); strings.Contains(text, "secret") {
				t.Errorf("stored as %s", text)
			}
			o, err := p.OpenStored(stored)
			if err != nil {
				t.Fatal(err)
			}
			if o.Timeout != c.timeout || env.Timeout != c.timeout || o.Pull != c.pulled || o.MaxBatch != 7 {
				t.Errorf("opened with %+v and the time-out %s, want %s and pulled %v", o, env.Timeout, c.timeout, c.pulled)
			}
			if env.Tenant != "bank" || env.Channel != "hook" || len(env.Codes) != len(c.settings.Codes) || config.String("key") != "a secret" {
				t.Errorf("the driver got %+v", env)
			}
			if len(o.RecipientLimits) != 1 || o.RecipientLimits[0].Max != len("a secret") {
				t.Errorf("the limits of a recipient are %+v, want what the driver says of its configuration", o.RecipientLimits)
			}
			if p.Close(o); d.closed != 1 {
				t.Errorf("closed %d times", d.closed)
			}
		})
	}
}

// A text of which nothing can be seen is sent by no driver, whatever the driver itself asks of a content.
func TestABlankTextIsSentByNoDriver(t *testing.T) {
	t.Parallel()
	plain := probeType(&probe{}, new(channel.Env), new(channel.Config))
	own := plain
	own.Name, own.Content = "own", func(channel.Config, posthouse.Content) []posthouse.Problem { return nil }
	p := openerWith(t, plain, own)
	for _, driver := range []string{"probe", "own"} {
		o, err := p.OpenStored(posthouse.Channel{Tenant: "bank", Name: "hook", Driver: driver})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			content posthouse.Content
			blank   bool
		}{
			{posthouse.Content{Text: " \n\u200b"}, true},
			{posthouse.Content{Title: "\u3000", Text: "\t"}, true},
			{posthouse.Content{Title: "\u3000", Text: "seen"}, false},
			{posthouse.Content{Title: "seen"}, false},
		} {
			problems := o.Content(c.content)
			if got := len(problems) == 1 && problems[0].Path == "content.text"; got != c.blank || !c.blank && len(problems) > 0 {
				t.Errorf("%s, %+v: %v, want it refused: %t", driver, c.content, problems, c.blank)
			}
		}
	}
}

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	t.Parallel()
	p := openerWith(t, probeType(&probe{}, new(channel.Env), new(channel.Config)))
	other, err := channels.NewOpener(channels.OpenerOptions{Types: p.Types(), Keyring: ring(t, "two")})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := other.Sealed(posthouse.Channel{Name: "hook", Driver: "probe", Config: map[string]any{"key": "a secret"}})
	if err != nil {
		t.Fatal(err)
	}
	for want, ch := range map[string]posthouse.Channel{
		`no driver "telepathy"; the drivers are probe`:         {Name: "hook", Driver: "telepathy"},
		`the secret key cannot be decrypted with this keyring`: sealed,
		`encrypted by Posthouse`:                               {Name: "hook", Driver: "probe", Config: map[string]any{"key": "in clear"}},
	} {
		if _, err := p.OpenStored(ch); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	for _, types := range [][]channel.Type{{{Name: "probe"}}, append(p.Types(), p.Types()...)} {
		if _, err := channels.NewOpener(channels.OpenerOptions{Types: types, Keyring: ring(t, "one")}); err == nil {
			t.Errorf("%d drivers were taken that cannot be right", len(types))
		}
	}
}

var _ channel.Tokens = (*channels.Tokens)(nil)

// Send of the probe is never called.
func (p *probe) Send(context.Context, channel.Outgoing) channel.Result { return channel.Result{} }

// A channel that leads to a private address is stored, and says so at once: by a URL, by the name of a server, and by its egress.
func TestAPrivateAddressIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := openerWith(t, builtin.Types()...)
	for want, ch := range map[string]posthouse.Channel{
		"config.url: 10.9.9.9 ":      {Driver: "httpapi", Config: map[string]any{"url": "http://10.9.9.9/send"}},
		"config.host: 192.168.3.4 ":  {Driver: "email", Config: map[string]any{"host": "192.168.3.4"}},
		"config.host: fd00::1 ":      {Driver: "email", Config: map[string]any{"host": "fd00::1", "port": 2525}},
		"egress.hosts[1]: 10.9.9.9 ": {Driver: "webhook", ChannelSettings: posthouse.ChannelSettings{Egress: &posthouse.Egress{Hosts: []string{"*.example.com", "10.9.9.9"}}}},
		"":                           {Driver: "email", Config: map[string]any{"host": "smtp.example.com"}},
	} {
		said := p.Masked(ch).Warnings
		if want == "" && len(said) > 0 || want != "" && (len(said) != 1 || !strings.HasPrefix(said[0], want)) {
			t.Errorf("a channel of %s is warned of by %q, want %q", ch.Driver, said, want)
		}
	}
}
