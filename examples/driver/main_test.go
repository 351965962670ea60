package main

import (
	"bytes"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
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
