package simulator

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// anyObject picks what it knows from a JSON object of any form.
type anyObject struct {
	To      any `json:"to"`
	User    any `json:"user"`
	Address any `json:"address"`
	Title   any `json:"title"`
	Text    any `json:"text"`
	Content any `json:"content"`
	ID      any `json:"id"`
}

func (o anyObject) message(body []byte) message {
	text := func(v any) string { s, _ := v.(string); return s }
	return message{
		user:  cmp.Or(text(o.To), text(o.User), text(o.Address)),
		title: text(o.Title),
		text:  cmp.Or(text(o.Text), text(o.Content), string(body)),
		key:   text(o.ID),
	}
}

func readGeneric(r *http.Request, body []byte) (order, *refusal) {
	var in anyObject
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not a JSON object: %v", err)
	}
	msg := in.message(body)
	key := r.Header.Get("Idempotency-Key")
	msg.key = cmp.Or(key, r.Header.Get("webhook-id"), msg.key)
	return order{messages: []message{msg}, idempotent: key != ""}, nil
}
