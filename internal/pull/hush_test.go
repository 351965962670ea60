package pull

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// empty is a database without messages.
type empty struct{ content.Store }

func (empty) Message(context.Context, string, string) (posthouse.Message, int, error) {
	return posthouse.Message{}, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message")
}

// A message can be deleted before an agent says what became of it. Nobody can say then that it was not sensitive.
func TestAReportOnAMessageThatIsGoneKeepsNoWords(t *testing.T) {
	t.Parallel()
	list := []work.Report{{Tenant: posthouse.DefaultTenant, Request: "code 428193", AgentReport: posthouse.AgentReport{
		Delivery: posthouse.DeliveryID(posthouse.NewID(), 1), Outcome: posthouse.OutcomeNotSent, Error: "no signal for 428193",
	}}}
	rep := &Reporter{o: &Options{Contents: &content.Contents{Store: empty{}}}}
	rep.hush(t.Context(), list)
	if list[0].Error != state.Hidden("x") || list[0].Request != "" {
		t.Errorf("got the error %q and the request %q, want neither", list[0].Error, list[0].Request)
	}
}
