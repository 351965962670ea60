package simulator

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	event     = `{"type":"message","data":{"user":"u1","text":"hi"}}`
)

func signature(t *testing.T, secret, id string, at time.Time, body string) string {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	must(t, err)
	sig, err := wh.Sign(id, at, []byte(body))
	must(t, err)
	return sig
}

func TestWebhookVerifiesWhatTheReferenceSigns(t *testing.T) {
	t.Parallel()
	secrets := make([]Secret, 2)
	for i, s := range []string{oldSecret, newSecret} {
		var err error
		secrets[i], err = ParseSecret(s)
		must(t, err)
	}
	now := time.Now()
	good := signature(t, oldSecret, "msg_1", now, event)
	for _, test := range []struct {
		name, id, signature string
		at                  time.Time
		want                string // of the answer
	}{
		{"signed", "msg_1", good, now, ""},
		{"signed with the other secret", "msg_1", signature(t, newSecret, "msg_1", now, event), now, ""},
		{"one of several signatures", "msg_1", "v1a,AAAA " + good + " v1,BBBB", now, ""},
		{"no id", "", good, now, "webhook-id is missing"},
		{"no signature", "msg_1", "", now, "webhook-signature holds no v1 signature"},
		{"another id", "msg_2", good, now, "webhook-signature holds no v1 signature"},
		{"another body", "msg_1", signature(t, oldSecret, "msg_1", now, event+" "), now, "webhook-signature holds no v1 signature"},
		{"too old", "msg_1", signature(t, oldSecret, "msg_1", now.Add(-6*time.Minute), event), now.Add(-6 * time.Minute), "away from our clock"},
		{"from the future", "msg_1", signature(t, oldSecret, "msg_1", now.Add(time.Hour), event), now.Add(time.Hour), "away from our clock"},
		{"no time", "msg_1", good, time.Time{}, "it must be the Unix time in seconds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sim, url := serve(t, Options{WebhookSecrets: secrets})
			stamp := ""
			if !test.at.IsZero() {
				stamp = strconv.FormatInt(test.at.Unix(), 10)
			}
			got := call(t, "POST", url+"/webhook/team", event,
				"webhook-id", test.id, "webhook-timestamp", stamp, "webhook-signature", test.signature)
			status := http.StatusOK
			if test.want != "" {
				status = http.StatusUnauthorized
			}
			if got.status != status || !strings.Contains(got.body, test.want) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, status, test.want)
			}
			if a := sim.Arrivals(Filter{})[0]; test.want == "" && (a.Key != "msg_1" || a.User != "u1" || a.Text != "hi") {
				t.Errorf("got arrival %+v", a)
			}
		})
	}
}

func TestWebhookRecognisesIDs(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	for range 2 {
		call(t, "POST", url+"/webhook/x", event, "webhook-id", "msg_1")
	}
	if got, want := sim.Count("webhook", "msg_1"), (Count{"webhook", "msg_1", 2, 1, 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseSecretRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "must begin with whsec_",
		"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw":      "must begin with whsec_",
		"whsec_!":                               "must be Base64",
		"whsec_AAEC":                            "has 3 bytes, 24 to 64 are allowed",
		"whsec_" + strings.Repeat("AAAA", 22):   "has 66 bytes",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS": "must be Base64",
	} {
		if _, err := ParseSecret(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
