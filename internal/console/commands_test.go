package console_test

import (
	"net/url"
	"testing"
)

// A campaign may be called anything: what is copied from its page does no more than it says.
func TestACommandOnAPageIsQuoted(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // makes the channel
	name := "x; $(id) 'y'"
	h.api("POST", "/v1/campaigns", `{"name":"x; $(id) 'y'","channel":"later","content":{"text":"x"}}`, nil)
	h.shows(h.page("admin", "/console/t/default/campaigns/"+url.PathEscape(name)),
		`posthouse campaign import &#39;x; $(id) &#39;\&#39;&#39;y&#39;\&#39;&#39;&#39; people.csv`)
}
