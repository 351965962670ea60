package route

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// Evidence of an acknowledgement that is too long is cut, says so, and names the whole.
func TestEvidenceThatIsTooLongIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("知道了\x01", 4000)
	many := map[string]string{}
	for i := range 3000 {
		many[strings.Repeat("k", i%7)+string(rune('a'+i%26))+string(rune(0x4e00+i))] = "v"
	}
	for name, c := range map[string]struct {
		evidence any
		keeps    []string
	}{
		"one long text":  {map[string]any{"channel": "sms", "text": long}, []string{"channel", "text"}},
		"a list within":  {map[string]any{"channel": "sms", "list": []string{long}}, []string{"channel"}},
		"too many":       {many, nil},
		"not an object":  {long, []string{"beginning"}},
		"two long texts": {map[string]any{"text": long, "address": long}, []string{"text", "address"}},
	} {
		w := worldOf(t, rand.New(rand.NewPCG(1, 2)), WithDefaults(posthouse.Route{Name: "w", Version: 1, Steps: []posthouse.RouteStep{{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Minute)}}}), false)
		whole, err := json.Marshal(c.evidence)
		w.must(err)
		next, _, changed, err := Acknowledge(w.plan, "li.na", posthouse.AckSMS, whole, w.now)
		w.must(err)
		n, err := read(next)
		w.must(err)
		kept, sum := map[string]any{}, sha256.Sum256(whole)
		w.must(json.Unmarshal(n.Ack.Evidence, &kept))
		if !changed || len(n.Ack.Evidence) > MaxEvidence || kept["truncated"] != true || kept["bytes"] != float64(len(whole)) || kept["sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: it is kept as %.200s", name, n.Ack.Evidence)
		}
		for _, member := range c.keeps {
			if text, _ := kept[member].(string); len(text) < 3 {
				t.Errorf("%s: its %s is kept as %q", name, member, text)
			}
		}
	}
	short := json.RawMessage(`{"note": "seen"}`)
	if got := bounded(short); string(got) != string(short) {
		t.Errorf("short evidence is kept as %s", got)
	}
}
