package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/rule"
)

func TestThePagerBeeps(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	driver, err := pagerType(&out).Open(channel.Config{}, channel.Env{})
	if err != nil {
		t.Fatal(err)
	}
	got := driver.Send(t.Context(), channel.Outgoing{Recipient: posthouse.Recipient{Address: "7001"}})
	if got.Class != posthouse.ClassOK || out.String() != "beep 7001\n" {
		t.Errorf("got %+v and %q, want ok and a beep", got, out.String())
	}
}

func TestNightsAreQuiet(t *testing.T) {
	t.Parallel()
	env := rule.Env{Types: []rule.Type{quietType()}, TimeZone: "Asia/Shanghai"}
	if _, problems := rule.Build([]posthouse.RuleSettings{{Type: "quiet", Options: map[string]string{"until": "noon"}}}, env); len(problems) != 1 || problems[0].Path != "rules[0].options.until" {
		t.Errorf("got %+v, want one problem with until", problems)
	}
	q, problems := rule.Build([]posthouse.RuleSettings{{Type: "quiet", Options: map[string]string{"until": "7"}}}, env)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	night := time.Date(2026, 10, 1, 18, 0, 0, 0, time.UTC) // two o'clock in Shanghai
	v, err := q.Judge(t.Context(), rule.Subject{Now: night})
	if err != nil || v.Decision != rule.Defer || !v.Until.Equal(night.Add(5*time.Hour)) {
		t.Errorf("got %+v, %v, want a wait until seven", v, err)
	}
	if v, err := q.Judge(t.Context(), rule.Subject{Now: night.Add(5 * time.Hour)}); err != nil || v.Decision != rule.Allow {
		t.Errorf("got %+v, %v in the morning", v, err)
	}
}
