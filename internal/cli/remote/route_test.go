package remote

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/wire"
)

// A file with a wrong value names the field and what it wants, with an example, and no type of ours; each of these is said in Chinese too.
func TestAFileThatIsNoRouteSaysWhatItWants(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"steps": [{"channels": "chat"}]}`:                             `steps[0].channels: is a string: want a list, such as ["oa", "sms"]`,
		`{"steps": {"channels": ["chat"]}}`:                             `steps: is an object: want a list, such as [{"channels": ["oa"]}]`,
		`{"steps": [{"channels": ["a"]}, {"channels": [7]}]}`:           `steps[1].channels[0]: is a number: want a string, such as "oa"`,
		`{"steps": [{"channels": ["a"], "within": "10 minutes"}]}`:      `steps[0].within: is "10 minutes": want a duration such as "500ms", "90s", "5m", "1h30m" or "7d"`,
		`{"steps": [{"channels": ["a"], "own": "yes"}]}`:                `steps[0].own: is a string: want true or false, such as true`,
		`{"steps": [{"channels": ["a"], "to": ["li.na"]}]}`:             `steps[0].to[0]: is a string: want an object, such as {"roster": "night"}`,
		`{"steps": [{"channels": ["a"], "templates": ["alarm-call"]}]}`: `steps[0].templates: is a list: want an object, such as {"voice": "alarm-call"}`,
		`{"steps": [{"channels": ["a"], "to": []}]}`:                    `steps[0].to: is an empty list, which names nobody: leave it out for the message's recipients, or say whom, such as [{"roster": "night"}]`,
		`{"repeat": "2", "steps": []}`:                                  `repeat: is a string: want a whole number, such as 2`,
		`{"stepz": []}`:                                                 `stepz: there is no field of this name; did you mean steps?`,
		`[{"channels": ["a"]}]`:                                         `: is a list: want an object, such as {"steps": [{"channels": ["oa"]}]}`,
	} {
		_, err := readRoute("--file r.json", []byte(text))
		var wrong *posthouse.Error
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Message != "--file r.json: it is no route" {
			t.Errorf("%s: %v, want one problem", text, err)
			continue
		}
		p := wrong.Problems[0]
		if got := p.Path + ": " + p.Message; got != want {
			t.Errorf("%s: it says %s, want %s", text, got, want)
		}
		if zh, known := catalog.Chinese(p.Message); !known || strings.Contains(zh, "want") || strings.Contains(zh, "such as") || strings.Contains(zh, "is a") {
			t.Errorf("%s: in Chinese it says %s", text, zh)
		}
	}
	for text, want := range map[string]string{"": "empty", `{"steps": [`: "line 1, column 11", `{"steps": []} x`: "line 1, column 15"} {
		if _, err := readRoute("--file r.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--file r.json: ") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	r, err := readRoute("--file r.json", []byte(`{"name": "x", "steps": [{"channels": ["chat"], "until": "acknowledged", "within": "10m"}]}`))
	if err != nil || len(r.Steps) != 1 || r.Steps[0].Within.String() != "10m" {
		t.Errorf("a route is read as %+v, %v", r, err)
	}
}

// What a flag's JSON has wrong is told by its path, all at once and with no type of ours; a list that is written and empty is told before it is left
// out on the way to the server.
func TestSettingsOfAFlagSayWhatIsWrongByPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"caps": [{"max": "3", "per": "24h", "x": 1}]}`: {"caps[0].max: is a string: want a whole number", "caps[0].x: there is no field of this name; known are kinds, max, per, then"},
		`{"caps": [{"max": 3, "per": 24}]}`:              {`caps[0].per: is a number: want a duration such as "500ms", "90s", "5m", "1h30m" or "7d"`},
		`{"quiet_hours": [{"from": "22:00", "to": "08:00", "users": []}], "caps": [{"max": 3, "per": "24h", "kinds": []}]}`: {
			`quiet_hours[0].users: is an empty list, which names none: leave it out where all are meant, or name them, such as ["li.na"]`,
			`caps[0].kinds: is an empty list, which names none: leave it out where all are meant, or name them, such as ["news"]`,
		},
		`{"caps": [{"max": 3, "per": "24h"}]}`: nil,
	} {
		var in wire.PutTenant
		err := setFields([]byte(text), &in)
		if err == nil {
			err = emptied(in.QuietHours, in.Caps)
		}
		var got []string
		var wrong *posthouse.Error
		if errors.As(err, &wrong) {
			for _, p := range wrong.Problems {
				said := p.Path + ": " + p.Message
				got = append(got, said)
				if in, known := catalog.Chinese(p.Message); !known || strings.Contains(in, "string") || strings.Contains(in, "number") {
					t.Errorf("%s: in Chinese it is %q", said, in)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q (%v), want %q", text, got, err, want)
		}
	}
}
