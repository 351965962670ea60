package simulator_test

import (
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
	"github.com/posthouse/posthouse/internal/preset"
	"github.com/posthouse/posthouse/simulator"
)

// openPreset opens the driver of a channel that is made of a preset and leads to a simulator.
func openPreset(t *testing.T, p *preset.Preset, at string, secrets map[string]string) channel.Driver {
	t.Helper()
	given := maps.Clone(p.Shapes.Fields)
	given[preset.OriginField] = at + "/presets/" + p.Name
	config, problems := p.Fill(given, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, value := range secrets {
		config["secrets"].(map[string]any)[name] = value
	}
	checked, problems := httpapi.Type().Validate(config)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d, err := httpapi.Type().Open(checked, channel.Env{Network: channel.Network{AllowPrivate: true}, KeepAnswers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.(io.Closer).Close() })
	return d
}

// Every preset sends through the driver to the simulator, which makes each request anew and takes it only where both are the same.
func TestEveryPresetIsPlayed(t *testing.T) {
	t.Parallel()
	list, err := preset.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	sim := simulator.New(simulator.Options{})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			out := firstSent(t, p)
			out.Content.Text, out.IdemKey = `Say "hi" & <bye> ${x} {"a": [1]} 你好`, "01M8K3Y0000000000000000001"
			d := openPreset(t, p, server.URL, nil)
			for range 2 { // the second has a token
				if r := d.Send(t.Context(), out); r.Class != posthouse.ClassOK {
					t.Fatalf("got %s, %s: %s\n%s\n%s", r.Class, r.Code, r.Error, r.Request, r.Response)
				}
			}
			name := "preset-" + p.Name
			if got := sim.Arrivals(simulator.Filter{Provider: name}); len(got) != 2 || got[1].Answer != simulator.Accepted {
				t.Errorf("arrived: %+v", got)
			}
			for secret, value := range p.Shapes.Fields {
				if secretOf(p, secret) && sends(p, secret) {
					wrong := openPreset(t, p, server.URL, map[string]string{secret: value + "x"})
					if secretOfHook(p, secret) {
						wrong = openPreset(t, p, server.URL, map[string]string{secret: "elsewhere"})
					}
					if r := wrong.Send(t.Context(), out); r.Class == posthouse.ClassOK || r.Class == posthouse.ClassUnknown {
						t.Errorf("with a wrong %s: %+v", secret, r)
					}
				}
			}
			for code, classes := range map[simulator.Code][]posthouse.Class{
				simulator.TooFast: {posthouse.ClassRate, posthouse.ClassAccount}, // one of them says so where a month is used up
				simulator.Busy:    {posthouse.ClassTransient, posthouse.ClassUnknown, posthouse.ClassRate},
			} {
				if err := sim.Behave(name, simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Business, Code: code, Times: 1}}}); err != nil {
					t.Fatal(err)
				}
				if r := d.Send(t.Context(), out); !contains(classes, r.Class) {
					t.Errorf("%s: got %s (%s: %s), want one of %v", code, r.Class, r.Code, r.Error, classes)
				}
			}
		})
	}
}

func contains(list []posthouse.Class, one posthouse.Class) bool {
	for _, c := range list {
		if c == one {
			return true
		}
	}
	return false
}

// sends reports whether a request is made of a secret; some are for receipts alone.
func sends(p *preset.Preset, name string) bool {
	config := maps.Clone(p.Config)
	delete(config, "receipt_expects")
	return strings.Contains(fmt.Sprint(config), "."+name)
}

func secretOf(p *preset.Preset, name string) bool {
	for _, f := range p.Fields {
		if f.Name == name {
			return f.Secret
		}
	}
	return false
}

func secretOfHook(p *preset.Preset, name string) bool {
	for _, f := range p.Fields {
		if f.Name == name {
			return f.Kind == preset.Hook
		}
	}
	return false
}

// firstSent is the message of the first shape that is accepted.
func firstSent(t *testing.T, p *preset.Preset) channel.Outgoing {
	t.Helper()
	for i := range p.Shapes.List {
		if s := &p.Shapes.List[i]; s.Of == preset.OfMessage && s.Request != nil && len(s.Send) == 1 && s.Want[0].Class == posthouse.ClassOK {
			return s.Send[0]
		}
	}
	t.Fatal("no shape is a message that is accepted")
	return channel.Outgoing{}
}

// A preset that is not there, and one of somebody's own, are told apart.
func TestPresetsAreFoundByName(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{})
	for _, name := range []string{"preset-none", "preset-../x"} {
		if err := sim.Behave(name, simulator.Behaviour{}); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sim.Behave("preset-telegram", simulator.Behaviour{}); err != nil {
		t.Error(err)
	}
}
