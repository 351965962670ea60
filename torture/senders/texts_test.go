package senders

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// text sends a text of an id, and returns what was said and whether it was taken: by android-sms-gateway where make fronts has installed it,
// and else by a request that it has made.
func (y *yard) text(token, id string) (said string, taken bool) {
	ctx, cancel := context.WithTimeout(y.Context(), time.Minute)
	defer cancel()
	s := sender{kind: "smsgate", script: texts + "text(a.says)"}
	if program := s.program(ctx, y.member().Addr, y.smtp, token, id); program != nil {
		out, err := program.CombinedOutput()
		return string(out), err == nil
	}
	body, err := json.Marshal(map[string]any{"id": id, "message": id, "phoneNumbers": []string{"13800138000"}, "simNumber": 1, "ttl": 600})
	if err != nil {
		return err.Error(), false
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+y.member().Addr+"/in/smsgate/3rdparty/v1/message", strings.NewReader(string(body)))
	if err != nil {
		return err.Error(), false
	}
	r.GetBody = nil // nothing repeats it but its sender
	r.SetBasicAuth("any", token)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return err.Error(), false
	}
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", string(out)), err == nil && answer.StatusCode == http.StatusAccepted
}

// A server that is killed before the commit has told nobody that it took a text; what is sent again is there once, and another text of its
// id is refused. A full queue, as one that is killed, is no reason to give up.
func TestTextsSurviveKillsAndAFullQueue(t *testing.T) {
	t.Parallel()
	if folder() != "" {
		dbtest.Program(t, "node")
	}
	y := openYard(t)
	f := y.frontOf("smsgate")
	if said, taken := y.text(strings.Repeat("0", 64), "refused"); taken || !strings.Contains(said, `401 {"message":"Unauthorized"}`) {
		t.Errorf("a wrong token was told\n%s", said)
	}

	letGo := y.holdUp()
	killed := make(chan bool, 1)
	go func() {
		_, taken := y.text(f.Token, "killed")
		killed <- taken
	}()
	house.Until(t, "the text stands before its commit", func() bool { return y.member().Metric(t, "posthouse_front_commits_waiting") == 1 })
	y.heldUp()
	y.member().Kill(t)
	letGo()
	if <-killed {
		t.Error("a text was taken that was not committed")
	}
	y.member().Start(t)
	for range 2 { // the second time as if its answer had been lost
		if said, taken := y.text(f.Token, "killed"); !taken {
			t.Errorf("it came again and was told\n%s", said)
		}
	}
	if n := len(y.messages("smsgate", "killed")); n != 1 {
		t.Errorf("there are %d messages, want one", n)
	}

	room := y.full()
	var said, id string
	house.Until(t, "the queue is full", func() bool {
		var taken bool
		id = "full" + posthouse.NewID()
		said, taken = y.text(f.Token, id)
		return !taken
	})
	if !strings.Contains(said, `503 {"message":"it could not be committed`) {
		t.Errorf("with a full queue it was told\n%s", said)
	}
	room()
	if said, taken := y.text(f.Token, id); !taken || len(y.messages("smsgate", id)) != 1 {
		t.Errorf("what found no room came again and was told\n%s", said)
	}
}
