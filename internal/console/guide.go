package console

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// practice is the channel that the guide makes to the simulated providers.
const practice = "practice"

// guide is what the page of the first steps shows.
type guide struct {
	Simulator string            // where it is, as far as anybody has said
	Practice  posthouse.Channel // without a name before it is made
	Reached   *wire.ChannelTested
	Told      []posthouse.Delivery // over it, the newest first
	To, Text  string
	Once      string // the Idempotency-Key: a double click sends once
	Problems  []posthouse.Problem
}

// usualSimulator is where "posthouse simulate" is, unless it is told otherwise.
const usualSimulator = "http://127.0.0.1:8090"

func showGuide(v *visit) error {
	g := guide{Simulator: cmp.Or(v.o.Sandbox, usualSimulator)}
	return g.draw(v, http.StatusOK)
}

// draw reads how far the steps are, and shows them.
func (g *guide) draw(v *visit, status int) error {
	ch, err := v.call().Channels.Get(v.ctx(), practice)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return err
	}
	g.Practice, g.Once = ch, posthouse.NewID()
	g.To, g.Text = cmp.Or(g.To, "zhang.san"), cmp.Or(g.Text, say("guide_text", v.zh))
	if ch.Name != "" {
		page, err := v.call().Deliveries.List(v.ctx(), client.Filter{Channel: practice, Limit: 1})
		if err != nil {
			return err
		}
		g.Told = page.Items
	}
	return v.draw(status, "guide", "guide", g)
}

// takeStep does what a form of the guide asks.
func takeStep(v *visit) error {
	g := guide{Simulator: strings.TrimSuffix(v.form("simulator"), "/"), To: v.form("to"), Text: v.form("text")}
	var err error
	if v.form("step") == "send" {
		err = g.send(v)
	} else {
		err = g.connect(v)
	}
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid {
		return err
	}
	if g.Problems = coded.Problems; len(g.Problems) == 0 {
		g.Problems = problemAt("simulator", coded.Message)
	}
	g.Simulator = cmp.Or(g.Simulator, v.o.Sandbox, usualSimulator)
	return g.draw(v, http.StatusUnprocessableEntity)
}

// connect makes the channel, and shows whether it reaches the simulated provider. Whoever has one of that name keeps it.
func (g *guide) connect(v *visit) error {
	_, err := v.call().Channels.Get(v.ctx(), practice)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		_, _, err = v.call().Channels.Put(v.ctx(), posthouse.Channel{Name: practice, Driver: "httpapi", Config: map[string]any{
			"url": g.Simulator + "/generic/" + practice, "body": `{"to": "${user}", "title": "${title}", "text": "${text}"}`, "id_path": "$.id",
		}})
	}
	if err != nil {
		return err
	}
	got, err := v.call().Channels.Test(v.ctx(), practice, wire.ChannelTest{To: posthouse.Recipient{User: "guide"}})
	if err != nil {
		return err
	}
	g.Reached = &got
	return g.draw(v, http.StatusOK)
}

// send hands the first message in, and leads to what becomes of it.
func (g *guide) send(v *visit) error {
	sent, err := v.call().Messages.SendOnce(v.ctx(), v.form("once"), posthouse.Draft{
		Channel: practice, To: []posthouse.Recipient{{User: g.To}}, Content: &posthouse.Content{Text: g.Text},
	})
	if err != nil {
		return err
	}
	return v.goTo(v.at("messages", sent.Accepted[0].ID) + "?said=handed_in")
}
