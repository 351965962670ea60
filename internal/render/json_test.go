package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A string of a JSON is filled as a text is; what is put in cannot end it, and names of members stay.
func TestStringsOfJSONAreFilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, lacks string }{
		"a value in a string":            {text: `{"button": [{"text": "I have it", "key": "${key}"}]}`, want: `{"button":[{"text":"I have it","key":"k"}]}`},
		"with its quotes and lines":      {text: `{"title":"${odd}: {key}"}`, want: `{"title":"say \"no\"\\\n<b>: k"}`},
		"a value of an escaped string":   {text: `{"title":"\u0024{key}\n\"{key}\""}`, want: `{"title":"k\n\"k\""}`},
		"a number where a text is":       {text: `{"n":"${n}","n2":7.50,"no":null,"is":[true,"x"]}`, want: `{"n":"12.5","n2":7.50,"no":null,"is":[true,"x"]}`},
		"the name of a member":           {text: `{"${key}":"x","{key}":{"${key}":"${key}"}}`, want: `{"${key}":"x","{key}":{"${key}":"k"}}`},
		"a placeholder that is text":     {text: `{"a":"$${key}","b":"{{key}}","c":"{}","d":"$"}`, want: `{"a":"${key}","b":"{key}","c":"{}","d":"$"}`},
		"a value is not looked at again": {text: `{"a":"${marked}"}`, want: `{"a":"${key}"}`},
		"what the payload lacks":         {text: `{"a":"${none}","b":["${of}","${none}"]}`, lacks: "no value for none; an object or array cannot be inserted for of"},
	} {
		parsed, err := ParseJSON([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		values, err := ParseValues([]byte(`{"key":"k","odd":"say \"no\"\\\n<b>","n":12.5,"marked":"${key}","of":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.Execute(values, Strict)
		if lacks := errorText(err); string(got) != c.want || lacks != c.lacks {
			t.Errorf("%s: got %s, %q, want %s, %q", name, got, lacks, c.want, c.lacks)
		}
		if c.lacks == "" && !json.Valid(got) {
			t.Errorf("%s: %s is not JSON", name, got)
		}
		again, err := ParseJSON(parsed.Text())
		if err != nil || string(again.Text()) != string(parsed.Text()) {
			t.Errorf("%s: %s becomes %s, %v", name, parsed.Text(), again.Text(), err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Two spellings of one JSON are one text.
func TestAJSONHasOneText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{ \"a\" :\n\"<b> ${x}\", \"x\": \"<\" }", `{"a":"\u003cb\u003e ${x}","x":"\u003c"}`} {
		parsed, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(parsed.Text()), `{"a":"<b> ${x}","x":"<"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if diff := cmp.Diff([]string{"x"}, parsed.Variables()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWrongJSONIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":`:             "is not JSON",
		``:                  "is not JSON",
		`{"a":"take ${ x"}`: `has "take ${ x": line 1, column 6: `,
	} {
		if _, err := ParseJSON([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	long, err := ParseJSON([]byte(`["${x}","${x}","${x}"]`))
	if err != nil {
		t.Fatal(err)
	}
	values, err := ParseValues([]byte(`{"x":"` + strings.Repeat("x", MaxOutput/2) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := long.Execute(values, Strict); !strings.Contains(errorText(err), "longer than") {
		t.Errorf("three halves of the most are filled: %v", err)
	}
}
