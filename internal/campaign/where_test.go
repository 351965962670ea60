package campaign

import (
	"encoding/json"
	"strings"
	"testing"
)

// A condition has no loops and makes nothing longer: what could take the process down is refused before anybody is looked at.
func TestConditionsAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`reduce(1..1000, #acc + #acc, "xxxxxxxx") == ""`:           "the function reduce",
		`replace(repeat("a",100000),"a",repeat("b",100000)) != ""`: "the function replace",
		`join(map(1..100000,"aaaa"), repeat("x",10000)) != ""`:     "the function join",
		`let a=["a","a"]; any(a,any(a,# == "b"))`:                  "variabledeclarator",
		`any(tags, # == "b")`:                                      "the function any",
		`all(1..9, true)`:                                          "the function all",
		`len(1..100000) > 0`:                                       "the operator ..",
		`name matches repeat("a{1000}",1000)`:                      "a pattern that is no text",
		`name matches "a{1000}"`:                                   "a pattern of more than 100 bytes, or with counts",
		`name matches "` + strings.Repeat("a", 101) + `"`:          "a pattern of more than 100 bytes, or with counts",
		`name + name + name == ""`:                                 "a sum of something else",
		`1/0 > 0`:                                                  "the operator /",
		`2 ** 100000 > 0`:                                          "the operator **",
		`bitshl(1, 100000) > 0`:                                    "the function bitshl",
		`true; false`:                                              "sequence",
		`{"a": 1} == nil`:                                          "map",
		`name[0:1] == "x"`:                                         "slice",
		`name ? true : false`:                                      "conditional",
		`(name ?? "x") == "x"`:                                     "the operator ??",
		`nosuch(name)`:                                             "a function that there is not",
		`name.upper() == "X"`:                                      "a function that there is not",
		`["a", name] == nil`:                                       "a list of something else",
		`name | upper() == "X" | nosuch()`:                         "",
		`"text"`:                                                   "is no condition",
		`name ==`:                                                  "is no condition: it ends too early, at line 1, character 7",
		strings.Repeat("(", 3000) + "true":                         "is no condition",
		strings.Repeat("not ", 600) + "true":                       "parts: at most 500",
		strings.Repeat("x", 5000) + " == nil":                      "bytes: at most 4096",
	} {
		if _, err := whereOf(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q in one line", text, err, want)
		}
	}
}

func TestConditionsHoldAsTheyRead(t *testing.T) {
	t.Parallel()
	const member = `{"city":"杭州","points":"120","age":30,"tags":["vip","new"],"order":{"sum":9.5},"odd name":"x"}`
	for text, want := range map[string]bool{
		`city == "杭州" && int(points) >= 100`: true, `city in ["苏州", "上海"] or age < 18`: false, `not (city startsWith "杭")`: false,
		`"vip" in tags`: true, `order.sum > 9`: true, `lacks == nil`: true, `lacks?.x == nil`: true, `$env["odd name"] == "x"`: true,
		`lower(address) contains "o1"`: true, `int(points) + int(age) * 2 - 1 == 179`: true, `points matches "^[0-9]+$"`: true, `len(tags) == 2`: true, `age > -1`: true,
	} {
		w, err := whereOf(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := w.holds("O1", json.RawMessage(member)); got != want || err != nil {
			t.Errorf("%s: %t, %v; want %t", text, got, err, want)
		}
	}
}
