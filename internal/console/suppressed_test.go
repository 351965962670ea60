package console_test

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// A delivery that was not sent since its address is suppressed leads to the entry, as long as there is one.
func TestASuppressedDeliveryLeadsToItsEntry(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/suppressions", `{"address":"o1","reason":"asked by telephone"}`, nil)
	var sent posthouse.Accepted
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"address":"o1"}],"content":{"text":"x"}}`, &sent)
	var d posthouse.Delivery
	h.api("GET", "/v1/messages/"+sent.ID+"?wait=1m", "", nil)
	if h.api("GET", "/v1/deliveries/"+sent.Deliveries[0].ID, "", &d); d.State != posthouse.Suppressed {
		t.Fatalf("it is %s", d.State)
	}
	const at = "/console/t/default/"
	h.shows(h.page("viewer", at+"deliveries/"+d.ID), `<a href="`+at+`suppressions/o1">Its entry in the suppressions</a>: o1 · all channels · put in by hand or by a program`)
	h.api("DELETE", "/v1/suppressions?address=o1", "", nil)
	h.shows(h.page("viewer", at+"deliveries/"+d.ID), "The address is not suppressed any more")
}

// One that its recipient did not want leads to what the recipient wants.
func TestAnUnwantedDeliveryLeadsToWhatItsUserWants(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na"}]}`, nil)
	h.api("PUT", "/v1/users/li.na/preferences", `{"nothing":true}`, nil)
	var sent posthouse.Accepted
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"li.na"}],"content":{"text":"x"}}`, &sent)
	h.api("GET", "/v1/messages/"+sent.ID+"?wait=1m", "", nil)
	h.shows(h.page("viewer", "/console/t/default/deliveries/"+sent.Deliveries[0].ID), `<a href="/console/t/default/directory/li.na">What the recipient wants</a>`)
}

// The page of a delivery says what the directory calls its user, as long as the directory knows.
func TestADeliverySaysTheNameOfItsUser(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"}]}`, nil)
	var sent posthouse.Accepted
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"li.na"}],"content":{"text":"x"}}`, &sent)
	const at = "/console/t/default/"
	page := at + "deliveries/" + sent.Deliveries[0].ID
	h.shows(h.page("viewer", page), `<a href="`+at+`directory/li.na">李娜</a> <small>li.na</small>`)
	h.api("DELETE", "/v1/users/li.na", "", nil)
	h.shows(h.page("viewer", page), `</span> li.na</h1>`)
}
