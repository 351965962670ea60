package feishu_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// A message is taken back by its id, and all of a batch by the batch's. Feishu is asked whatever the age, and says what is too old; what was taken
// back before is taken back.
func TestAMessageAndABatchAreTakenBack(t *testing.T) {
	t.Parallel()
	const one, many = "om_dc13264520392913993dd051dba21dcf", "bm-dc13264520392913993dd051dba21dcf"
	for _, test := range []struct {
		name, ref, answer string
		want              channel.Recalled
		class             posthouse.Class
		target            string // of the call; empty for none
	}{
		{"a message", one, `{"code":0,"msg":"success","data":{}}`, channel.RecallDone, posthouse.ClassOK, "/open-apis/im/v1/messages/" + one},
		{"a batch", many, `{"code":0,"msg":"success","data":{}}`, channel.RecallDone, posthouse.ClassOK, "/open-apis/im/v1/batch_messages/" + many},
		{"too old", one, `{"code":230009,"msg":"This message is not recallable, because it is too old"}`, channel.RecallLate, "", "/open-apis/im/v1/messages/" + one},
		{"gone", one, `{"code":230110,"msg":"Action unavailable as the message has been deleted"}`, channel.RecallDone, "", "/open-apis/im/v1/messages/" + one},
		{"too fast", one, `{"code":99991400,"msg":"request trigger frequency limit"}`, channel.RecallRefused, posthouse.ClassRate, "/open-apis/im/v1/messages/" + one},
		{"half an answer", many, `{"code":`, channel.RecallUnknown, posthouse.ClassUnknown, "/open-apis/im/v1/batch_messages/" + many},
		{"a reference with a path", "../" + one, `{"code":0}`, channel.RecallRefused, posthouse.ClassRequest, ""},
		{"no reference", "", `{"code":0}`, channel.RecallRefused, posthouse.ClassRequest, ""},
	} {
		p := answering(t, 200, test.answer)
		did, result := driver(t, at(p.URL), nil).(channel.Recaller).Recall(t.Context(), test.ref, time.Now().AddDate(-1, 0, 0))
		if did != test.want || test.class != "" && result.Class != test.class {
			t.Errorf("%s: %s, %+v; want %s by the class %q", test.name, did, result, test.want, test.class)
		}
		target := ""
		for _, a := range p.Arrivals() {
			if a.Method == http.MethodDelete {
				target += a.Target
			}
		}
		if target != test.target {
			t.Errorf("%s: %q was called, want %q once", test.name, target, test.target)
		}
	}
}
