package simulator

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// maxReceivers is how many recipients one call to our fake 招呼 may name.
const maxReceivers = 100

// zhaohuCodes are the words of our fake 招呼.
var zhaohuCodes = map[Code]string{
	UnknownUser: "NO_USER", RefusedContent: "REFUSED", Malformed: "BAD_REQUEST", TooFast: "TOO_FAST", Busy: "BUSY",
}

// zhaohuCall is a call as JSON. Lists may also be one text with commas.
type zhaohuCall struct {
	Receivers  list   `json:"receivers"`
	Text       string `json:"text"`
	RequestNos list   `json:"requestNo"`
}

// list is a JSON array of strings, or one string with commas between its members.
type list []string

// UnmarshalJSON reads either form.
func (l *list) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = split([]string{one})
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

func split(values []string) list {
	var out list
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

func readZhaohu(r *http.Request, body []byte) (order, *refusal) {
	var in zhaohuCall
	if mediaType(r) == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return order{}, malformed("the body is not a form: %v", err)
		}
		in = zhaohuCall{split(form["receivers"]), form.Get("text"), split(form["requestNo"])}
	} else if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is neither a form nor the JSON this interface reads: %v", err)
	}
	return in.order()
}

func (c zhaohuCall) order() (order, *refusal) {
	n := len(c.Receivers)
	switch {
	case n == 0:
		return order{}, malformed("receivers is missing")
	case n > maxReceivers:
		return order{}, malformed("receivers names %d, at most %d are allowed", n, maxReceivers)
	case c.Text == "":
		return order{}, malformed("text is missing")
	case len(c.RequestNos) > 1 && len(c.RequestNos) != n:
		return order{}, malformed("requestNo has %d values for %d receivers: give one, or one for each",
			len(c.RequestNos), n)
	}
	out := make([]message, n)
	for i, user := range c.Receivers {
		out[i] = message{user: user, text: c.Text, key: c.key(i)}
	}
	return order{messages: out}, nil
}

// key tells the receivers of one call apart, also where the call has one number for all.
func (c zhaohuCall) key(i int) string {
	switch {
	case len(c.RequestNos) == 0:
		return ""
	case len(c.RequestNos) == len(c.Receivers):
		return c.RequestNos[i]
	default:
		return c.RequestNos[0] + "/" + c.Receivers[i]
	}
}

// zhaohuAnswer succeeds only where every receiver did; errCode is the first failure.
type zhaohuAnswer struct {
	Success     bool         `json:"success"`
	ErrCode     string       `json:"errCode,omitempty"`
	ErrMsg      string       `json:"errMsg,omitempty"`
	WaitSeconds int          `json:"waitSeconds,omitempty"`
	Result      []zhaohuLine `json:"result,omitempty"`
}

type zhaohuLine struct {
	User    string `json:"user"`
	Status  string `json:"status"`
	ID      string `json:"id,omitempty"`
	Message string `json:"message,omitempty"`
}

func answerZhaohu(results []result) reply {
	out := zhaohuAnswer{Success: true}
	for _, res := range results {
		line := zhaohuLine{User: res.user, Status: "OK", ID: res.id}
		if ref := res.refusal; ref != nil {
			line.Status, line.Message = zhaohuCodes[ref.code], ref.text
			if out.Success {
				out.Success, out.ErrCode, out.ErrMsg, out.WaitSeconds = false, line.Status, ref.text, ref.wait
			}
		}
		if res.user != "" { // a call that could not be read has no receivers
			out.Result = append(out.Result, line)
		}
	}
	b, _ := json.Marshal(out) // strings, numbers and lists of them
	return inJSON(string(b))
}
