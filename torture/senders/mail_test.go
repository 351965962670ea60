package senders

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// swaks sends a mail with a Message-ID, and returns what was said and whether it was taken.
func (y *yard) swaks(program, token, id string) (said string, taken bool) {
	ctx, cancel := context.WithTimeout(y.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--server", y.smtp, "--auth", "PLAIN", "--auth-user", "mail", "--auth-password", token, "--from", "cron@db1", "--to", "ops@example.com",
		"--header", "Message-Id: <"+id+"@db1>", "--header", "Subject: "+id, "--body", "full").CombinedOutput()
	return string(out), err == nil
}

// A server that is killed before the commit has told nobody that it took a mail; what is sent again is there once. A full queue, as one
// that is killed, is no reason to give up.
func TestMailSurvivesKillsAndAFullQueue(t *testing.T) {
	t.Parallel()
	program := dbtest.Program(t, "swaks")
	y := openYard(t)
	f := y.front("mail")
	if said, taken := y.swaks(program, strings.Repeat("0", 64), "refused"); taken || !strings.Contains(said, "535 5.7.8") {
		t.Errorf("a wrong token was told\n%s", said)
	}

	letGo := y.holdUp()
	killed := make(chan bool, 1)
	go func() {
		_, taken := y.swaks(program, f.Token, "killed")
		killed <- taken
	}()
	house.Until(t, "the mail stands before its commit", func() bool { return y.member().Metric(t, "posthouse_front_commits_waiting") == 1 })
	y.heldUp()
	y.member().Kill(t)
	letGo()
	if <-killed {
		t.Error("a mail was taken that was not committed")
	}
	y.member().Start(t)
	if n := len(y.messages("mail", "killed")); n > 0 {
		t.Errorf("there are %d messages that nobody was told of", n)
	}
	for range 2 { // the second time as if its answer had been lost
		if said, taken := y.swaks(program, f.Token, "killed"); !taken {
			t.Errorf("it came again and was told\n%s", said)
		}
	}
	if n := len(y.messages("mail", "killed")); n != 1 {
		t.Errorf("there are %d messages, want one", n)
	}

	room := y.full()
	var said, id string
	house.Until(t, "the queue is full", func() bool {
		var taken bool
		id = "full" + posthouse.NewID()
		said, taken = y.swaks(program, f.Token, id)
		return !taken
	})
	if !strings.Contains(said, "451 4.3.0") {
		t.Errorf("with a full queue it was told\n%s", said)
	}
	room()
	if said, taken := y.swaks(program, f.Token, id); !taken || len(y.messages("mail", id)) != 1 {
		t.Errorf("what found no room came again and was told\n%s", said)
	}
}
