package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/render"
)

func mustParse(t testing.TB, text string) *render.Template {
	t.Helper()
	tmpl, err := render.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func mustValues(t testing.TB, payload string) render.Values {
	t.Helper()
	values, err := render.ParseValues(json.RawMessage(payload))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestExecuteInsertsValuesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	values := mustValues(t, `{
		"text": "a&b=c + 1", "blank": "", "yes": true, "no": false,
		"int": 9007199254740993, "money": 10.50, "exp": 1E+2,
		"order": {"id": 7, "buyer": {"name": "Ann"}}, "x.y": "own", "x": {"y": "reached"}
	}`)
	for text, want := range map[string]string{
		"${text}":            "a&b=c + 1",
		"[${blank}]":         "[]",
		"${yes}/${no}":       "true/false",
		"${int}":             "9007199254740993",
		"${money} ${exp}":    "10.50 1E+2",
		"${order.id}":        "7",
		"{order.buyer.name}": "Ann",
		"${x.y}":             "own",
	} {
		if got, err := mustParse(t, text).Execute(values, render.Strict); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// The faults of second-order substitution: a value that looks like a
// placeholder, a query string or a template language is only text.
func TestExecuteNeverExpandsAValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"{b}", "${b}", "{{b}}", "$${b}", "&b=x", "{{env}}", "{{.}}", "${}", "${${b}}", "{", "}", "$", "\r\nBcc: x", "\u202e{b}",
	} {
		tmpl := mustParse(t, "${a}{b}${a}")
		got, err := tmpl.Execute(render.Strings(map[string]string{"a": value, "b": "SECRET"}), render.Strict)
		if want := value + "SECRET" + value; err != nil || got != want {
			t.Errorf("a = %q: got %q, %v, want %q", value, got, err, want)
		}
	}
	// Nor do pieces from both sides grow together into a placeholder.
	tmpl := mustParse(t, "$${x}{y}")
	got, err := tmpl.Execute(render.Strings(map[string]string{"y": "{b}", "b": "SECRET"}), render.Strict)
	if want := "${x}{b}"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestExecuteReportsEveryValueThatIsWrong(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "${a} {b} ${a} ${c.d} ${e} ${f} ${ok.x}")
	values := mustValues(t, `{"b": null, "c": "text", "e": {}, "f": [1], "ok": {"x": 1}}`)

	_, err := tmpl.Execute(values, render.Strict)
	var wrong *render.ValuesError
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want a ValuesError", err)
	}
	want := &render.ValuesError{Missing: []string{"a", "b", "c.d"}, Structured: []string{"e", "f"}}
	if diff := cmp.Diff(want, wrong); diff != "" {
		t.Error(diff)
	}
	if got, want := err.Error(), "no value for a, b, c.d; an object or array cannot be inserted for e, f"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	problems := wrong.Problems("payload")
	if diff := cmp.Diff(posthouse.Problem{Path: "payload.a", Message: "the template needs a value here"}, problems[0]); diff != "" {
		t.Error(diff)
	}
	if got, want := len(problems), 5; got != want {
		t.Errorf("got %d problems, want %d", got, want)
	}
}

func TestLenientKeepsAMissingPlaceholderAsWritten(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "Hi {name}, ${order.id}, {known}")
	got, err := tmpl.Execute(mustValues(t, `{"name": null, "known": 1}`), render.Lenient)
	if want := "Hi {name}, ${order.id}, 1"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	_, err = tmpl.Execute(mustValues(t, `{"name": ["x"]}`), render.Lenient)
	var wrong *render.ValuesError
	if !errors.As(err, &wrong) || len(wrong.Structured) != 1 {
		t.Errorf("got %v, want an error that names the array", err)
	}
}

func TestExecuteBoundsTheOutput(t *testing.T) {
	t.Parallel()
	fits := mustParse(t, strings.Repeat("{a}", 256))
	values := render.Strings(map[string]string{"a": strings.Repeat("x", 1024)})
	if got, err := fits.Execute(values, render.Strict); err != nil || len(got) != render.MaxOutput {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, render.MaxOutput)
	}
	over := mustParse(t, strings.Repeat("{a}", 256)+".")
	_, err := over.Execute(values, render.Strict)
	var long *render.TooLongError
	if !errors.As(err, &long) {
		t.Errorf("got %v, want a TooLongError", err)
	}
}

func TestFillLetsTheCallerEncode(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, `{"text":"${text}","keep":"${other}"}`)
	got, err := tmpl.Fill(func(name string) (string, bool) {
		return strings.ReplaceAll(`say "${other}"`, `"`, `\"`), name == "text"
	})
	if want := `{"text":"say \"${other}\"","keep":"${other}"}`; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestParseValuesRefusesWhatIsAmbiguous(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)
	for name, c := range map[string]struct{ payload, want string }{
		"key twice":       {`{"a":1,"a":2}`, "read the payload: a: the key appears twice"},
		"key twice, deep": {`{"a":[{},{"b":{"c":1,"c":2}}]}`, "read the payload: a[1].b.c: the key appears twice"},
		"escaped twin":    {`{"a":1,"\u0061":2}`, "read the payload: a: the key appears twice"},
		"too deep":        {deep, "read the payload: " + strings.Repeat("a.", 31) + "a: objects and arrays nest deeper than 32 levels"},
		"an array":        {`[1]`, "the payload must be a JSON object"},
		"a string":        {`"x"`, "the payload must be a JSON object"},
		"not UTF-8":       {"{\"a\":\"\xff\"}", "the payload is not valid UTF-8"},
		"cut off":         {`{"a":`, "read the payload: unexpected EOF"},
		"text after it":   {`{} x`, "the payload has text after its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := render.ParseValues(json.RawMessage(c.payload)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func TestParseValuesTakesNothingForNoValues(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", " ", "null", "{}"} {
		if _, err := render.ParseValues(json.RawMessage(payload)); err != nil {
			t.Errorf("%q: %v", payload, err)
		}
	}
	depth := strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32)
	if _, err := render.ParseValues(json.RawMessage(depth)); err != nil {
		t.Errorf("32 levels: %v", err)
	}
}

func TestWithWinsAndLeavesTheOldValues(t *testing.T) {
	t.Parallel()
	tmpl := mustParse(t, "{a}{b}")
	old := mustValues(t, `{"a": 1, "b": 2}`)
	added := old.With(map[string]string{"b": "new"})
	for want, values := range map[string]render.Values{"12": old, "1new": added} {
		if got, err := tmpl.Execute(values, render.Strict); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

func Example() {
	tmpl, _ := render.Parse("Dear ${name}, your order {order.id} ships on ${date}.")
	fmt.Println(tmpl.Variables())

	values, _ := render.ParseValues(json.RawMessage(`{"name": "Li {date}", "order": {"id": 42}, "date": "Monday"}`))
	text, _ := tmpl.Execute(values, render.Strict)
	fmt.Println(text)

	_, err := tmpl.Execute(render.Values{}, render.Strict)
	fmt.Println(err)
	// Output:
	// [name order.id date]
	// Dear Li {date}, your order 42 ships on Monday.
	// no value for name, order.id, date
}

func BenchmarkExecute(b *testing.B) {
	tmpl := mustParse(b, "Dear ${name}, your order {order.id} over ${amount} ships on ${date}.")
	payload := json.RawMessage(`{"name": "Li", "order": {"id": 42}, "amount": 10.50, "date": "Monday"}`)
	b.ReportAllocs()
	for b.Loop() {
		values, err := render.ParseValues(payload)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tmpl.Execute(values, render.Strict); err != nil {
			b.Fatal(err)
		}
	}
}
