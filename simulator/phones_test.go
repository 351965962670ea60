package simulator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tell hands an SMS to a phone, and answers as the phone did: its status, 0 for a cut connection.
func tell(t *testing.T, url, agent, to, key string) int {
	t.Helper()
	got, err := try(t, "POST", url+"/phones/"+agent+"/sms", `{"to":"`+to+`","text":"您的验证码是123456","key":"`+key+`"}`)
	if err != nil {
		return 0
	}
	return got.status
}

func TestAPhoneShowsWhatItSent(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	tell(t, url, "phone-1", "+8613800138000", "d1")
	tell(t, url, "phone-1", "13900000001", "d2")
	tell(t, url, "phone-2", "13800138001", "d3")
	got := decode[Phone](t, call(t, "GET", url+"/phones/phone-1/sms", "").body)
	if want := (Totals{Arrivals: 2, Accepted: 1, Refused: 1}); got.Totals != want {
		t.Errorf("got totals %+v, want %+v", got.Totals, want)
	}
	if len(got.SMS) != 2 || got.SMS[0].Key != "d1" || got.SMS[1].Code != UnknownUser {
		t.Errorf("got %+v, want d1 and then one to an unknown number", got.SMS)
	}
	if got := len(sim.Phones()); got != 2 {
		t.Errorf("got %d phones, want 2", got)
	}
	if got := sim.Count(phoneName, "d3"); got.Taken != 1 {
		t.Errorf("d3: got %+v, want it taken once", got)
	}
	sim.Clear()
	if got := decode[Phone](t, call(t, "GET", url+"/phones/phone-1/sms", "").body); got.Totals.Arrivals != 0 || len(got.SMS) != 0 {
		t.Errorf("after Clear: got %+v, want nothing", got)
	}
}

func TestAPhoneSendsTwiceWhatItIsToldTwice(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	tell(t, url, "phone-1", "13800138000", "d1")
	tell(t, url, "phone-2", "13800138000", "d1")
	if got := sim.Totals(); got.Duplicates != 1 || got.Repeats != 0 {
		t.Errorf("got %+v, want one duplicate", got)
	}
}

func TestNumbersActAsTheNamesInTheirOrder(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for number, want := range map[string][]int{
		"13900000001":       {404, 404},
		"+86 139-0000-0002": {422},
		"+8613900000003":    {503, 503, 202},
		"13900000005":       {429, 202},
		"13900000009":       {0, 202},
		"fail-recipient-x":  {404},
		"13900000000":       {202},
		"+113900000001":     {202},
	} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			var got []int
			for range want {
				got = append(got, tell(t, url, "phone-1", number, "d"+number))
			}
			if !cmp.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestAPhoneReadsOnlyWhatIsAnSMS(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for path, body := range map[string]string{
		"/phones/phone-1/sms":   `{"text":"no number"}`,
		"/phones/phone-2/sms":   `{"to":"13800138000"}`,
		"/phones/phone-3/sms":   `{"to":"13800138000","text":"` + strings.Repeat("a", maxSMS+1) + `"}`,
		"/phones/phone-4/sms":   `to=13800138000`,
		"/phones/phone%205/sms": `{"to":"13800138000","text":"hello"}`,
	} {
		if got := call(t, "POST", url+path, body); got.status != 400 || !strings.Contains(got.body, "malformed") {
			t.Errorf("%s: got %d %s, want it refused as malformed", path, got.status, got.body)
		}
	}
	if got := call(t, "GET", url+"/phones/phone%205/sms", ""); got.status != 404 {
		t.Errorf("an impossible phone: got %d, want 404", got.status)
	}
}

func TestAPhoneKeepsItsLastMessages(t *testing.T) {
	t.Parallel()
	p := newPhones()
	for i := range phoneKeeps + 5 {
		p.took([]Arrival{{Seq: int64(i + 1), Path: "/phones/phone-1/sms", Answer: Accepted}})
	}
	got := p.all()[0]
	if len(got.SMS) != phoneKeeps || got.SMS[0].Seq != 6 || got.Totals.Accepted != phoneKeeps+5 {
		t.Errorf("got %d messages from number %d of %d, want %d from number 6 of %d",
			len(got.SMS), got.SMS[0].Seq, got.Totals.Accepted, phoneKeeps, phoneKeeps+5)
	}
	for i := range maxPhones + 5 {
		p.took([]Arrival{{Path: "/phones/phone-" + strings.Repeat("x", i%40) + strings.Repeat("y", i/40) + "/sms"}})
	}
	if got := len(p.all()); got != maxPhones {
		t.Errorf("got %d phones, want %d", got, maxPhones)
	}
}

func TestPhonesPageShowsBubbles(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{})
	for lang, want := range map[string]string{"en": "No phone has sent anything yet.", "zh": "还没有手机发过短信。"} {
		if got := call(t, "GET", url+"/phones?lang="+lang, ""); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: the empty page (%d) lacks %q", lang, got.status, want)
		}
	}
	tell(t, url, "phone-1", "13800138000", "d1")
	tell(t, url, "phone-1", "13900000002", "d2")
	body := call(t, "GET", url+"/phones?lang=zh&still=1", "").body
	for _, part := range []string{"<h2>phone-1</h2>", "13800138000", "您的验证码是123456", "已接受 1", "已拒绝 1", "未发出", "refused_content", "计费条数 1", "13900000013"} {
		if !strings.Contains(body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Index(body, "13900000002") > strings.Index(body, "13800138000") {
		t.Error("the newest bubble is not the first")
	}
	evil := `<script>alert(1)</script>`
	call(t, "POST", url+"/phones/phone-1/sms", `{"to":"`+evil+`","text":"`+evil+`"}`)
	if body := call(t, "GET", url+"/phones", "").body; strings.Contains(body, "<script") || strings.Count(body, "&lt;script&gt;") != 2 {
		t.Error("the page holds a script")
	}
	if got := call(t, "GET", url+"/phones?phone=1", ""); got.status != 400 {
		t.Errorf("an unknown parameter: got %d, want 400", got.status)
	}
}
