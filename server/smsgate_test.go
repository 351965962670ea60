package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/wire"
)

// smsgate is a front whose sender names the recipients, and how its sender calls it: by user and password.
type smsgate struct {
	*house
	token string
}

func openSMSGate(h *house) smsgate {
	return smsgate{h, h.front("smsgate", func(in *wire.PutFront) { in.To = nil }).Token}
}

// textState is what a client of SMSGate is told of a message.
type textState struct {
	ID, State, Message string
	Recipients         []struct{ PhoneNumber, State, Error string }
}

func (s smsgate) ask(method, path, body string) (status int, out textState) {
	s.Helper()
	status, said := s.knock(method, "/in/smsgate/3rdparty/v1/"+path, body, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("any:"+s.token)))
	if err := json.Unmarshal([]byte(said), &out); err != nil {
		s.Fatalf("%s %s is answered with %d %s", method, path, status, said)
	}
	return status, out
}

// The sender names the numbers, and is told what became of its message by its own id or by ours.
func TestTheSenderOfTextsNamesTheNumbersAndAsksForThem(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		s := openSMSGate(h)
		status, made := s.ask("POST", "messages", `{"id":"order-1","textMessage":{"text":"Your parcel is here"},"phoneNumbers":["138 0013 8000","+1 650 253 0000"],"ttl":3600,"withDeliveryReport":true,"deviceId":null}`)
		if status != 202 || made.ID != "order-1" || made.State != "Pending" || len(made.Recipients) != 2 || made.Recipients[0].PhoneNumber != "+8613800138000" || made.Recipients[1].PhoneNumber != "+16502530000" {
			h.Fatalf("got %d %+v", status, made)
		}
		list := h.lastMessages()
		if len(list) != 1 || list[0].Content.Text != "Your parcel is here" || list[0].Ref != "order-1" || list[0].Deadline.Sub(list[0].CreatedAt).Round(time.Minute) != time.Hour {
			h.Fatalf("the message is %+v", list)
		}
		for _, id := range []string{"order-1", list[0].ID} {
			h.eventually("it is sent", func() bool {
				status, made = s.ask("GET", "message/"+id, "")
				return status == 200 && made.State == "Sent"
			})
			if made.ID != "order-1" || len(made.Recipients) != 2 || made.Recipients[1].State != "Sent" || !strings.HasPrefix(made.Recipients[1].PhoneNumber, "+") {
				h.Errorf("%s is told as %+v", id, made)
			}
		}

		// The same of the same id is taken once, and another is refused.
		if status, made = s.ask("POST", "message", `{"id":"order-1","message":"Your parcel is here","phoneNumbers":["13800138000","+16502530000"],"ttl":7200}`); status != 202 || made.ID != "order-1" {
			h.Errorf("again: %d %+v", status, made)
		}
		if status, made = s.ask("POST", "messages", `{"id":"order-1","textMessage":{"text":"another"},"phoneNumbers":["13800138000"]}`); status != 409 || !strings.Contains(made.Message, "already exists") {
			h.Errorf("another of the id: %d %+v", status, made)
		}
		if n := len(h.lastMessages()); n != 1 {
			h.Errorf("there are %d messages, want one", n)
		}
		for line, want := range map[string]float64{`outcome="accepted"`: 1, `outcome="duplicate"`: 1, `outcome="refused"`: 1} {
			if n := h.metric(`posthouse_front_requests_total{front="smsgate",kind="smsgate",` + line + `}`); n != want {
				h.Errorf("%s is %v, want %v", line, n, want)
			}
		}
		// What asks is no news: it does not push what came from the page.
		h.eventually("the calls are kept", func() bool {
			calls, err := h.api.Fronts.Calls(h.Context(), "smsgate")
			h.must(err)
			return len(calls) == 3
		})
	})
}

// Another front's messages, and those of nobody's front, are not there for a sender that asks.
func TestASenderAsksForItsOwnAlone(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	s := openSMSGate(h)
	other := h.front("json").Token
	h.knock("POST", "/in/json/"+other, `{"text":"full"}`)
	sent, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "out", Kind: "smsgate", Ref: "theirs", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}})
	h.must(err)
	for _, id := range []string{h.lastMessages()[0].ID, h.lastMessages()[1].ID, sent.Accepted[0].ID, "theirs", posthouse.NewID(), "%00", strings.Repeat("x", 300)} {
		if status, out := s.ask("GET", "messages/"+id, ""); status != 404 || out.Message != "message not found" {
			t.Errorf("%.40s: got %d %+v", id, status, out)
		}
	}
}

// What a sender of texts has wrong is told in its form, and is nothing to come again with.
func TestWhatATextLacks(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	s := openSMSGate(h)
	now := time.Now()
	for body, want := range map[string]string{
		`x`: "the body is no message of SMSGate's",
		`{"phoneNumbers":"13800138000","message":"x"}`: "the body is no message of SMSGate's",
		`{"message":"x"}`:                        "phoneNumbers has 0 numbers: want 1 to 100",
		`{"message":"x","phoneNumbers":["110"]}`: "phoneNumbers[0] ",
		`{"message":"x","phoneNumbers":["13800138000","+86 138 0013 8000"]}`:                                              "phone numbers must be unique",
		`{"message":"x","phoneNumbers":["010 6552 9988"]}`:                                                                "phoneNumbers[0] is no mobile number",
		`{"dataMessage":{"data":"AAAA","port":1},"phoneNumbers":["13800138000"]}`:                                         "dataMessage is not sent here",
		`{"message":"x","isEncrypted":true,"phoneNumbers":["13800138000"]}`:                                               "isEncrypted is set",
		`{"message":"x","textMessage":{"text":"y"},"phoneNumbers":["13800138000"]}`:                                       "both textMessage and message",
		`{"message":"x","phoneNumbers":["13800138000"],"ttl":4}`:                                                          "ttl is 4: want 5 to ",
		`{"message":"x","phoneNumbers":["13800138000"],"ttl":9223372036854775807}`:                                        "ttl is 9223372036854775807",
		`{"message":"x","phoneNumbers":["13800138000"],"ttl":60,"validUntil":"2100-01-01T00:00:00Z"}`:                     "both ttl and validUntil",
		`{"message":"x","phoneNumbers":["13800138000"],"validUntil":"2020-01-01T00:00:00Z"}`:                              "deadline is 2020-01-01T00:00:00Z, which has passed",
		`{"message":"x","phoneNumbers":["13800138000"],"scheduleAt":"2020-01-01T00:00:00Z"}`:                              "scheduleAt is 2020-01-01T00:00:00Z: want a time in the future",
		`{"message":"x","phoneNumbers":["13800138000"],"scheduleAt":"` + now.AddDate(2, 0, 0).Format(time.RFC3339) + `"}`: "not_before is ",
		`{"message":"x","phoneNumbers":["13800138000"],"id":"` + strings.Repeat("x", 37) + `"}`:                           "id has 37 characters: at most 36 are allowed",
	} {
		if status, out := s.ask("POST", "messages", body); status != 400 || !strings.Contains(out.Message, want) {
			t.Errorf("%s: got %d %q, want %q", body, status, out.Message, want)
		}
	}
	if n := len(h.lastMessages()); n != 0 {
		t.Errorf("there are %d messages", n)
	}
	if status, out := s.ask("POST", "messages?skipPhoneValidation=true", `{"message":"x","phoneNumbers":["110"]}`); status != 202 || out.Recipients[0].PhoneNumber != "110" {
		t.Errorf("a number as it is given: %d %+v", status, out)
	}
	if status, out := s.ask("POST", "messages?skipPhoneValidation=true", fmt.Sprintf(`{"message":"x","phoneNumbers":[%q]}`, strings.Repeat("1", 600))); status != 400 || !strings.Contains(out.Message, "to[0]") {
		t.Errorf("a number that is none: %d %+v", status, out)
	}
}

// A front with recipients of its own sends to them alone, and tells nobody where they are reached.
func TestASenderOfTextsToAFrontWithRecipients(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t))
	s := smsgate{h, h.front("smsgate", func(in *wire.PutFront) { in.To = []posthouse.Recipient{{Address: "+8613911112222"}, {User: "u1"}} }).Token}
	if status, out := s.ask("POST", "messages", `{"id":"1","message":"x","phoneNumbers":["110"]}`); status != 202 || out.Recipients[0].PhoneNumber != "110" {
		t.Errorf("got %d %+v", status, out)
	}
	status, out := s.ask("GET", "messages/1", "")
	if text := fmt.Sprint(out); status != 200 || len(out.Recipients) != 2 || !strings.Contains(text, "u1") || strings.Contains(text, "139") {
		t.Errorf("got %d %+v", status, out)
	}
	// Of another kind a front without recipients would send to nobody.
	_, err := h.api.Fronts.Put(t.Context(), "gotify", wire.PutFront{Kind: "gotify", FrontSettings: posthouse.FrontSettings{Channel: "out"}})
	if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(fmt.Sprint(err), "to ") {
		t.Errorf("a front without recipients: %v", err)
	}
}

// Behind the front may stand the phones that poll: one sends the text and reports it, and who sent it is told.
func TestATextOfSMSGateGoesOutByAPhone(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), withSMS())
	s := smsgate{h, h.front("smsgate", func(in *wire.PutFront) { in.To, in.Channel = nil, "sms" }).Token}
	if status, out := s.ask("POST", "messages", `{"id":"1","textMessage":{"text":"Your parcel is here"},"phoneNumbers":["13800138000"]}`); status != 202 {
		t.Fatalf("got %d %+v", status, out)
	}
	tasks := h.fetch("phone-1", 1)
	if len(tasks) != 1 || tasks[0].Phone != "13800138000" || tasks[0].Content != "Your parcel is here" {
		t.Fatalf("the phone got %+v", tasks)
	}
	if _, out := s.ask("GET", "messages/1", ""); out.State != "Processed" {
		t.Errorf("while the phone has it: %+v", out)
	}
	h.says(200, "phone-1", tasks[0].ID, wentOut)
	if _, out := s.ask("GET", "messages/1", ""); out.State != "Sent" || out.Recipients[0].PhoneNumber != "+8613800138000" {
		t.Errorf("when the phone has sent it: %+v", out)
	}
}
