package pull

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// hush drops what agents say in their own words of sensitive messages, and of those that nobody can say of
// whether they are, such as one that is deleted by now: what they call an error, and the request, which has that and
// whatever else they sent along. Most reports have no such words, and their messages are not looked up.
func (rep *Reporter) hush(ctx context.Context, list []work.Report) {
	mayQuote := rep.o.Contents.MayQuote(ctx)
	for i := range list {
		if r := &list[i]; !wordless(r) && !mayQuote(r.Tenant, posthouse.MessageID(r.Delivery)) {
			r.Error, r.Request = state.Hidden(r.Error), ""
		}
	}
}

// wordless reports whether a report has nothing in its agent's own words: its request is made of the fields that are
// kept anyway, as one of the front doors writes them down.
func wordless(r *work.Report) bool {
	if r.Error != "" {
		return false
	}
	fields, _ := json.Marshal(r.AgentReport) // texts, a number and a flag: cannot fail
	return r.Request == "" || r.Request == string(fields) || r.Request == SentRequest(r.Delivery, r.Agent)
}

// SentRequest is what the log keeps of a request to the SMS front door that says that a text was sent. The body itself
// may quote the text, in fields that have no use.
func SentRequest(task, app string) string {
	request, _ := json.Marshal(struct {
		Task   string `json:"task_id"`
		App    string `json:"app_id"`
		Status int    `json:"status"`
	}{task, app, 2}) // texts and a number: cannot fail
	return string(request)
}
