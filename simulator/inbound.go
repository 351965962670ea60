package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Reply is what a recipient sends back, which the provider tells by the callback that CallBack has set.
type Reply struct {
	User string `json:"user"`
	Text string `json:"text"`
	// Key is that of the message that is answered. Defaults to the newest that the user got.
	Key string `json:"key"`
	// Automatic is for a program that answers for the user: a vacation note. Only mail has them.
	Automatic bool `json:"automatic"`
	// Times is how often the provider tells it. Defaults to once.
	Times int `json:"times"`
}

// replies are what providers tell of a reply to a message.
var replies = map[string]func(to *Arrival, a *Reply, at time.Time) string{
	"mail": mailReply, "sms_aliyun": aliyunReply, "sms_tencent": tencentReply,
}

// Reply has a recipient answer a message, of which the provider tells: mail, sms_aliyun and sms_tencent. To a call of Aliyun the text is the keys
// that are pressed. Of phones it tells nobody: the phone that sent the message gets the text, and its agent fetches that.
func (s *Simulator) Reply(provider string, a Reply) error {
	f, err := s.fake(provider)
	if err != nil {
		return err
	}
	told, can := replies[provider]
	switch {
	case provider == phoneName:
	case !can:
		return posthouse.Errorf(posthouse.CodeInvalid, "nobody replies by the provider %q", provider)
	case !f.more.back.calls():
		return posthouse.Errorf(posthouse.CodeConflict, "%s calls nobody back: PUT /callbacks/%s first", provider, provider)
	}
	if a.Times = cmp.Or(a.Times, 1); a.Times < 0 || a.Times > mostTold {
		return posthouse.Errorf(posthouse.CodeInvalid, "times is %d: want 1 to %d", a.Times, mostTold)
	}
	for _, to := range slices.Backward(s.Arrivals(Filter{Provider: provider, User: a.User, Limit: maxListed})) {
		if to.taken() && (a.Key == "" || a.Key == to.Key) {
			if provider == phoneName {
				s.phones.gets(&to, &a, time.Now())
				return nil
			}
			event := told(&to, &a, time.Now())
			for range a.Times {
				f.more.back.tell(event)
			}
			return nil
		}
	}
	return posthouse.Errorf(posthouse.CodeNotFound, "%q got no message with the key %q, of those that are kept", a.User, a.Key)
}

// mailReply is a mail as the mailbox hands it on that it was sent to.
func mailReply(to *Arrival, a *Reply, at time.Time) string {
	var b strings.Builder
	header := func(name, text string) { fmt.Fprintf(&b, "%s: %s\r\n", name, text) }
	header("From", a.User)
	header("To", "desk@example.com")
	header("Date", at.Format(time.RFC1123Z))
	header("Message-ID", "<"+posthouse.NewID()+"@mailbox.example>")
	header("In-Reply-To", "<"+to.Key+">")
	header("References", "<"+to.Key+">")
	subject := "Re: " + to.Title
	if a.Automatic {
		header("Auto-Submitted", "auto-replied")
		subject = "Automatic reply: " + to.Title
	}
	header("Subject", mime.QEncoding.Encode("utf-8", subject))
	header("Content-Type", "text/plain; charset=utf-8")
	b.WriteString("\r\n" + a.Text + "\r\n")
	return b.String()
}

// aliyunReply is what Aliyun pushes of a text message that somebody sent back, or of a key that was pressed in a call.
func aliyunReply(to *Arrival, a *Reply, at time.Time) string {
	now := at.In(beijing).Format(time.DateTime)
	if strings.HasPrefix(to.Title, "TTS_") {
		return jsonLine([]any{map[string]string{"call_id": to.ID, "status_code": "300000", "dtmf": a.Text, "status_time": now, "out_id": to.Key}})
	}
	return jsonLine([]any{map[string]any{
		"phone_number": strings.TrimPrefix(strings.TrimPrefix(to.User, "+86"), "+"), "send_time": now, "content": a.Text, "sign_name": "驿站", "dest_code": "1234", "sequence_id": at.UnixNano(),
	}})
}

// tencentReply is what Tencent pushes of a text message that somebody sent back.
func tencentReply(to *Arrival, a *Reply, at time.Time) string {
	nation, number := "86", strings.TrimPrefix(to.User, "+86")
	if strings.HasPrefix(number, "+") {
		nation, number = number[1:3], number[3:] // of this simulator's examples
	}
	return jsonLine(map[string]any{"extend": "", "mobile": number, "nationcode": nation, "sign": "驿站", "text": a.Text, "time": at.Unix()})
}

func (p panel) replyTo(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var a Reply
	if err := json.Unmarshal(body, &a); err != nil {
		return posthouse.Errorf(posthouse.CodeInvalid, "the body is no reply: %w", err)
	}
	if err := p.Reply(r.PathValue("provider"), a); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
