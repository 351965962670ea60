package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// What is answered 422 is not done: a start with a time that cannot be read begins nothing, a suppression until such a time holds for nobody, and a
// decision whose address is misspelt decides nothing about all.
func TestWhatIsRefusedIsNotDone(t *testing.T) {
	ways(t, func(h *house, p *scripted) {
		_, err := h.api.Campaigns.Create(h.Context(), wire.CampaignDraft{Name: "spring", Channel: "a", Content: &posthouse.Content{Text: "hello"}})
		h.must(err)
		_, err = h.api.Campaigns.Import(h.Context(), "spring", client.Part{Final: true}, strings.NewReader("address\nu1\nu2\n"))
		h.must(err)
		h.eventually("the list is read", func() bool {
			c, err := h.api.Campaigns.Get(h.Context(), "spring")
			h.must(err)
			return c.State == posthouse.CampaignReady
		})
		for path, bodies := range map[string][]string{
			"/v1/campaigns/spring/start":     {`{"at":"tomorrow"}`, `{"at":"0001-01-01T00:00:00Z"}`, `{"nope":1}`},
			"/v1/campaigns/spring/resolve":   {`{"outcome":"not_sent","addres":"u1"}`, `{"outcome":"sent","all":true,"nope":1}`},
			"/v1/campaigns/spring/followers": {`{"nope":1}`},
			"/v1/suppressions":               {`{"address":"u1","until":"0001-01-01T00:00:00Z"}`, `{"address":"u1","until":"tomorrow"}`, `{"address":"u1","nope":1}`, `{"address":"u1","address":"u2"}`},
		} {
			for _, body := range bodies {
				if status, answer := h.call(http.MethodPost, path, "application/json", body); status != http.StatusUnprocessableEntity {
					h.Errorf("%s %s: %d %v", path, body, status, answer)
				}
			}
		}
		c, err := h.api.Campaigns.Get(h.Context(), "spring")
		if h.must(err); c.State != posthouse.CampaignReady || !c.StartedAt.IsZero() {
			h.Errorf("a start that was refused: the campaign is %s, begun at %s", c.State, c.StartedAt)
		}
		list, err := h.api.Suppressions.List(h.Context(), "", "", client.Filter{})
		if h.must(err); len(list.Items) != 0 {
			h.Errorf("suppressions that were refused: %+v", list.Items)
		}
		if got := p.on("a"); len(got) != 0 {
			h.Errorf("%d messages left", len(got))
		}
	})
}
