package simulator

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// Each account is held to its windows by itself, and one that is too fast again within an hour is refused for longer.
func TestAccountsArePunishedOneByOne(t *testing.T) {
	t.Parallel()
	minute, hour := posthouse.Duration(time.Minute), posthouse.Duration(time.Hour)
	b, err := ParseBehaviour([]byte(`{"accounts": [
		{"accounts": "9*", "windows": [{"max": 1, "per": "1s"}]},
		{"windows": [{"max": 2, "per": "1s"}, {"max": 3, "per": "10s"}], "lockout": "1m", "relapse": "1h"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, start := newAccounts(b.Accounts), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		at      time.Duration
		account string
		want    posthouse.Duration
	}{
		{0, "1", 0},
		{0, "1", 0},
		{0, "2", 0}, // has windows of its own
		{0, "2", 0},
		{0, "9", 0},
		{400 * time.Millisecond, "9", posthouse.Duration(600 * time.Millisecond)}, // no punishment, only no room
		{time.Second, "1", 0},
		{3 * time.Second, "1", minute}, // the longer window is full
		{4 * time.Second, "1", posthouse.Duration(59 * time.Second)},
		{4 * time.Second, "2", 0},
		{2 * time.Minute, "1", 0},
		{2 * time.Minute, "1", 0},
		{2 * time.Minute, "1", hour},
		{2 * time.Minute, "", 0}, // nobody's
		{4 * time.Hour, "1", 0},
		{4 * time.Hour, "1", 0},
		{4 * time.Hour, "1", minute}, // an hour after the last one it is the first again
	} {
		if got := s.admit(start.Add(step.at), step.account); got != step.want.Std() {
			t.Errorf("a call of %q after %s: refused for %s, want %s", step.account, step.at, got, step.want)
		}
	}
}

func TestLimitsOfAccountsAreChecked(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"accounts": [{"accounts": "[", "windows": [{"max": 1, "per": "1s"}]}]}`: "accounts[0].accounts",
		`{"accounts": [{}]}`: "accounts[0].windows",
		`{"accounts": [{"windows": [{"max": 0, "per": "1s"}]}]}`:                   "accounts[0].windows[0].max",
		`{"accounts": [{"windows": [{"max": 1, "per": "1s", "lockout": "1s"}]}]}`:  "accounts[0].windows[0].lockout",
		`{"accounts": [{"windows": [{"max": 1, "per": "1s"}], "relapse": "48h"}]}`: "accounts[0].relapse",
	} {
		_, err := ParseBehaviour([]byte(body))
		var wrong *posthouse.Error
		if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || wrong.Problems[0].Path != want {
			t.Errorf("%s: got %v, want a problem of %s", body, err, want)
		}
	}
}

// WeCom counts by application, a robot's group by the robot: in the place of what both allow otherwise.
func TestTheAccountOfWeComIsItsApplication(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	rule := []AccountLimit{{Windows: []Limit{{Max: 30, Per: posthouse.Duration(time.Hour)}}}}
	must(t, sim.Behave("wecom_robot", Behaviour{Accounts: rule}))
	for range wecomRobotMax + 5 {
		call(t, http.MethodPost, url+"/wecom_robot/cgi-bin/webhook/send?key=k1", `{"msgtype": "text", "text": {"content": "x"}}`)
	}
	if list := sim.Arrivals(Filter{}); len(list) != wecomRobotMax+5 || list[len(list)-1].Answer != Accepted || list[0].Account != "k1" {
		t.Errorf("%d arrivals, the last one %+v", len(list), list[len(list)-1])
	}
	for range 6 {
		call(t, http.MethodPost, url+"/wecom_robot/cgi-bin/webhook/send?key=k1", `{"msgtype": "text", "text": {"content": "x"}}`)
	}
	if last := sim.Arrivals(Filter{}); last[len(last)-1].Code != TooFast {
		t.Errorf("the last one is %+v", last[len(last)-1])
	}
}
