package channel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// every has a field of each kind.
func every() channel.Type {
	return channel.Type{Name: "every", Fields: []channel.Field{
		{Name: "name", Kind: channel.KindString, Default: "anna"},
		{Name: "body", Kind: channel.KindText},
		{Name: "token", Kind: channel.KindSecret},
		{Name: "url", Kind: channel.KindURL, Required: true},
		{Name: "size", Kind: channel.KindInt, Default: 10, Min: 1, Max: 100},
		{Name: "count", Kind: channel.KindInt},
		{Name: "loud", Kind: channel.KindBool, Default: true},
		{Name: "wait", Kind: channel.KindDuration, Default: time.Minute},
		{Name: "mode", Kind: channel.KindChoice, Choices: []channel.Choice{{Value: "a"}, {Value: "b"}}, Default: "a"},
		{Name: "labels", Kind: channel.KindMap},
		{Name: "headers", Kind: channel.KindSecrets},
		{Name: "values", Kind: channel.KindList},
	}}
}

func TestValidateFillsDefaults(t *testing.T) {
	t.Parallel()
	c, problems := every().Validate(map[string]any{"url": "https://example.com", "name": "", "labels": map[string]any{}})
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	got := []any{c.String("name"), c.String("url"), c.Int("size"), c.Int("count"), c.Bool("loud"), c.Duration("wait"), c.String("mode"), c.Has("labels"), c.Has("name")}
	want := []any{"anna", "https://example.com", 10, 0, true, time.Minute, "a", false, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidateReadsWhatJSONAndYAMLAndGoGive(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]map[string]any{
		"JSON": {
			"size": float64(7), "wait": "1h30m", "values": []any{"x", "y"},
			"labels": map[string]any{"k": "v"}, "headers": map[string]any{"X": "s"}, "loud": false,
		},
		"YAML": {
			"size": 7, "wait": "90m", "values": []any{"x", "y"},
			"labels": map[string]any{"k": "v"}, "headers": map[string]any{"X": "s"}, "loud": false,
		},
		"Go": {
			"size": int64(7), "wait": 90 * time.Minute, "values": []string{"x", "y"},
			"labels": map[string]string{"k": "v"}, "headers": map[string]string{"X": "s"}, "loud": false,
		},
	} {
		raw["url"] = "http://10.0.0.7:8080/send/${user}?a=${text}"
		c, problems := every().Validate(raw)
		if len(problems) > 0 {
			t.Errorf("%s: problems: %+v", name, problems)
		}
		got := []any{c.Int("size"), c.Duration("wait"), c.List("values"), c.Map("labels"), c.Map("headers"), c.Bool("loud")}
		want := []any{7, 90 * time.Minute, []string{"x", "y"}, map[string]string{"k": "v"}, map[string]string{"X": "s"}, false}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestValidateReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, problems := every().Validate(map[string]any{
		"name": "two\nlines", "token": 5, "size": 101, "count": 1.5, "loud": "yes", "wait": "soon", "mode": "c",
		"labels": map[string]any{"k": 1}, "headers": "x", "values": []any{"x", 2}, "urll": "u", "zzz": 1,
	})
	got := map[string]string{}
	for _, p := range problems {
		got[p.Path] = p.Message
	}
	for path, part := range map[string]string{
		"config.name": "one line", "config.token": "give a text", "config.url": "is missing",
		"config.size": "from 1 to 100", "config.count": "whole number", "config.loud": "true or false",
		"config.wait": "90s", "config.mode": "one of a, b", "config.labels.k": "give a text",
		"config.headers": "names with a text", "config.values[1]": "give a text",
		"config.urll": "did you mean url?", "config.zzz": "known are",
	} {
		if !strings.Contains(got[path], part) {
			t.Errorf("%s: %q, want it to say %q", path, got[path], part)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("and these, unwanted: %v", got)
	}
}

func TestValidateNeverShowsASecret(t *testing.T) {
	t.Parallel()
	_, problems := every().Validate(map[string]any{
		"url": "http://example.com", "token": []any{"hunter2"}, "headers": map[string]any{"X": []any{"hunter2"}},
	})
	if len(problems) != 2 || strings.Contains(fmt.Sprint(problems), "hunter2") {
		t.Errorf("problems: %+v", problems)
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"example.com", "/send", "ftp://example.com", "file:///etc/passwd", "http://", "http://:80/", "https://user:pw@example.com/",
		"https://user@example.com/", "http://exa mple.com", "http://example.com/\r\nX: y", "http://${host}/", "gopher://x", "http://h:${port}/",
	} {
		if _, problems := every().Validate(map[string]any{"url": u}); len(problems) != 1 {
			t.Errorf("%q gives %+v, want one problem", u, problems)
		}
	}
}

// What is refused is shown as it was written.
func TestARefusedValueIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	for want, raw := range map[string]map[string]any{
		"1000000 is not allowed":         {"size": 1e6},
		"-0.25 is not allowed":           {"size": -0.25},
		`{"a":"${text}"} is not allowed`: {"name": map[string]any{"a": "${text}"}},
		`["a",1] is not allowed`:         {"name": []any{"a", 1.0}},
	} {
		raw["url"] = "http://example.com"
		if _, problems := every().Validate(raw); len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) {
			t.Errorf("%v: %+v, want %s", raw, problems, want)
		}
	}
}

func TestCheckAddsToWhatTheFieldsShow(t *testing.T) {
	t.Parallel()
	typ := every()
	typ.Check = func(c channel.Config) []posthouse.Problem {
		return []posthouse.Problem{{Path: "size", Message: "again"}, {Path: "body", Message: c.String("name") + " does not fit"}}
	}
	_, problems := typ.Validate(map[string]any{"url": "http://example.com", "size": 0})
	var got []string
	for _, p := range problems {
		got = append(got, p.Path+": "+p.Message)
	}
	want := []string{"config.size: 0 is not allowed; give a whole number from 1 to 100", "config.body: anna does not fit"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSecretsAreMaskedAndKept(t *testing.T) {
	t.Parallel()
	old := map[string]any{"url": "http://a.example/u", "token": "t0", "headers": map[string]any{"A": "a0", "B": "b0", "C": ""}, "later": "l0"}
	shown := every().Redact(old)
	if diff := cmp.Diff(map[string]any{
		"url": "http://a.example/u", "token": channel.Mask, "headers": map[string]any{"A": channel.Mask, "B": channel.Mask, "C": ""}, "later": channel.Mask,
	}, shown); diff != "" {
		t.Errorf("Redact (-want +got):\n%s", diff)
	}
	if old["token"] != "t0" {
		t.Error("Redact changed its input")
	}
	changed := map[string]any{"url": "http://A.example:80/v", "token": channel.Mask, "headers": map[string]any{"A": channel.Mask, "B": "b1", "D": channel.Mask}}
	kept := every().Keep(old, changed)
	if diff := cmp.Diff(map[string]any{
		"url": "http://A.example:80/v", "token": "t0", "headers": map[string]any{"A": "a0", "B": "b1", "D": channel.Mask},
	}, kept); diff != "" {
		t.Errorf("Keep (-want +got):\n%s", diff)
	}
	_, problems := every().Validate(kept)
	if len(problems) != 1 || problems[0].Path != "config.headers.D" {
		t.Errorf("a mask that keeps nothing gives %+v, want one problem at config.headers.D", problems)
	}
}

// A person who may change where a channel sends must not have its secrets sent there.
func TestASecretIsBoundToItsDestination(t *testing.T) {
	t.Parallel()
	typ := channel.Type{Fields: []channel.Field{
		{Name: "url", Kind: channel.KindURL, Default: "https://api.example/send"},
		{Name: "hosts", Kind: channel.KindList, Destination: true},
		{Name: "port", Kind: channel.KindInt, Destination: true},
		{Name: "note", Kind: channel.KindString},
		{Name: "token", Kind: channel.KindSecret},
		{Name: "headers", Kind: channel.KindSecrets},
	}}
	old := map[string]any{"token": "t0", "headers": map[string]any{"A": "a0"}, "hosts": []string{"x"}, "port": 25}
	for name, c := range map[string]struct {
		change map[string]any
		kept   bool
	}{
		"nothing":              {nil, true},
		"a note":               {map[string]any{"note": "n"}, true},
		"the default, written": {map[string]any{"url": "https://API.example.:443/other?x=1"}, true},
		"other forms":          {map[string]any{"hosts": []any{"x"}, "port": float64(25)}, true},
		"another host":         {map[string]any{"url": "https://evil.example/send"}, false},
		"a host below":         {map[string]any{"url": "https://api.example.evil.example/send"}, false},
		"another port":         {map[string]any{"url": "https://api.example:444/send"}, false},
		"another scheme":       {map[string]any{"url": "http://api.example/send"}, false},
		"more hosts":           {map[string]any{"hosts": []any{"x", "y"}}, false},
		"a port of its own":    {map[string]any{"port": 26}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := typ.Redact(old)
			for field, v := range c.change {
				changed[field] = v
			}
			kept := typ.Keep(old, changed)
			_, problems := typ.Validate(kept)
			if ok := kept["token"] == "t0" && len(problems) == 0; ok != c.kept {
				t.Errorf("kept %v with %+v, want kept: %t", kept, problems, c.kept)
			}
			if !c.kept && (len(problems) != 2 || problems[0].Path != "config.token" || problems[1].Path != "config.headers.A") {
				t.Errorf("got %+v, want both secrets to be asked for", problems)
			}
		})
	}
}

func TestMapSecretsStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no key")
	_, err := every().MapSecrets(map[string]any{"token": "t0"}, func(string, string) (string, error) { return "", broken })
	if !errors.Is(err, broken) {
		t.Errorf("err = %v, want %v", err, broken)
	}
}

func ExampleType_MapSecrets() {
	typ := channel.Type{Fields: []channel.Field{
		{Name: "url", Kind: channel.KindURL},
		{Name: "token", Kind: channel.KindSecret},
		{Name: "headers", Kind: channel.KindSecrets},
	}}
	raw := map[string]any{"url": "https://example.com", "token": "t", "headers": map[string]any{"X-Key": "k"}}
	sealed, _ := typ.MapSecrets(raw, func(name, value string) (string, error) {
		return "sealed(" + name + ", " + value + ")", nil
	})
	fmt.Println(sealed["url"], sealed["token"], sealed["headers"])
	// Output: https://example.com sealed(token, t) map[X-Key:sealed(headers.X-Key, k)]
}

func ExampleType_Validate() {
	typ := channel.Type{Fields: []channel.Field{
		{Name: "url", Kind: channel.KindURL, Required: true},
		{Name: "size", Kind: channel.KindInt, Min: 1, Max: 100},
	}}
	_, problems := typ.Validate(map[string]any{"sise": 5, "size": 500})
	for _, p := range problems {
		fmt.Printf("%s: %s\n", p.Path, p.Message)
	}
	// Output:
	// config.url: is missing; give an http or https URL without a user name in it, such as https://example.com/send
	// config.size: 500 is not allowed; give a whole number from 1 to 100
	// config.sise: there is no setting of this name; did you mean size?
}
