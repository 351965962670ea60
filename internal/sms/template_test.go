package sms_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/sms"
)

func ExampleFill() {
	text, _ := sms.Fill("您的验证码是{code}，用户{name}", "code=123456&name=张三")
	fmt.Println(text)
	_, err := sms.Fill("{rate} off", "rate=20%")
	fmt.Println(err)
	// Output:
	// 您的验证码是123456，用户张三
	// content has a % at place 8 without two hexadecimal digits behind it: write %25 for a percent sign
}

// PULL-4
func TestFillReadsAQueryString(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, query, want string }{
		"escapes":                      {"{a}", "a=%E5%BC%A0+%e4%b8%89%20%26%3d%2B", "张 三 &=+"},
		"a value is not filled again":  {"{a}{b}", "a={b}&b=SECRET", "{b}SECRET"},
		"nor is one around a name":     {"{a}b}", "a={&b=SECRET", "{b}"},
		"the first of two counts":      {"{a}", "a=1&a=2", "1"},
		"a value of nothing":           {"[{a}]", "a=", "[]"},
		"an = in a value":              {"{a}", "a=b=c", "b=c"},
		"empty pairs":                  {"{a}{b}", "&a=1&&b=2&", "12"},
		"what is left over":            {"{a}", "a=1&b=2", "1"},
		"a template without names":     {"hello", "a=1", "hello"},
		"a template without a query":   {"hello", "", "hello"},
		"a name that is used twice":    {"{a}-{a}", "a=1", "1-1"},
		"a name in Chinese":            {"你好{姓名}", "%E5%A7%93%E5%90%8D=李四", "你好李四"},
		"braces that hold nothing":     {"{} } { {a", "", "{} } { {a"},
		"a brace before a placeholder": {"{{a}}", "a=1", "{1}"},
		"new lines":                    {"{a}", "a=1%0A2", "1\n2"},
	} {
		got, err := sms.Fill(c.template, c.query)
		if err != nil || got != c.want {
			t.Errorf("%s: Fill(%q, %q) = %q, %v; want %q", name, c.template, c.query, got, err, c.want)
		}
	}
}

// PULL-4
func TestFillSaysWhereAQueryIsWrong(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"a=1&b=张三%zz": "content has a % at place 9 without two hexadecimal digits behind it: write %25 for a percent sign",
		"a=%2":        "content has a % at place 3 without two hexadecimal digits behind it: write %25 for a percent sign",
		"a=%":         "content has a % at place 3 without two hexadecimal digits behind it: write %25 for a percent sign",
		"%g1=1":       "content has a % at place 1 without two hexadecimal digits behind it: write %25 for a percent sign",
		"a=张&Sons":    "content has no = in the parameter at place 5: write name=value, and %26 for an & inside of a value",
		"b=1&a=%ff":   "content is not UTF-8 once its escapes are read, in the parameter at place 7",
		"b=1":         `content does not give "a", which the template needs: add a=…`,
		"":            `content does not give "a", which the template needs: add a=…`,
	} {
		got, err := sms.Fill("{a}", query)
		if err == nil || err.Error() != want {
			t.Errorf("Fill of %q = %q, %v; want error %q", query, got, err, want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	if got, want := sms.Placeholders("{b} {a} {} {b} {c"), []string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("Placeholders = %q, want %q", got, want)
	}
}

// What is filled holds each value as it was before it was escaped, whatever it is.
func FuzzFill(f *testing.F) {
	for _, seed := range []string{"Smith&Sons", "1+1", "{b}", "50%", "张三", "a=b", "}{"} {
		f.Add(seed, "x=1&"+seed)
	}
	f.Fuzz(func(t *testing.T, value, query string) {
		if valid := strings.ToValidUTF8(value, ""); valid == value {
			got, err := sms.Fill("<{a}|{b}>", url.Values{"a": {value}, "b": {"2"}}.Encode())
			if want := "<" + value + "|2>"; err != nil || got != want {
				t.Errorf("Fill of %q = %q, %v; want %q", value, got, err, want)
			}
		}
		_, _ = sms.Fill("{x}{y}", query) // whatever comes, it does not panic
	})
}
