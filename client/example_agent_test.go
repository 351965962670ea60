package client_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// An agent fetches, says that it begins, sends, and says what came of it.
func ExampleHandouts_Claim() {
	ctx := context.Background()
	admin, url, stop := startAt()
	defer stop()
	sms := posthouse.Channel{Name: "sms", Driver: "discard", ChannelSettings: posthouse.ChannelSettings{Pull: true}}
	if _, _, err := admin.Channels.Put(ctx, sms); err != nil {
		fmt.Println(err)
		return
	}
	agent, err := admin.Agents.Add(ctx, posthouse.Agent{ID: "phone-1", Channels: []string{"sms"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = admin.Messages.Send(ctx, posthouse.Draft{Channel: "sms", To: []posthouse.Recipient{{User: "+8613800138000"}}, Content: &posthouse.Content{Text: "Your parcel is here."}})
	if err != nil {
		fmt.Println(err)
		return
	}

	phone, err := client.New(client.Options{URL: url, Key: agent.Secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := phone.Handouts.Claim(ctx, "phone-1", wire.Claim{Wait: posthouse.Duration(30e9)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range got.Handouts {
		started, err := phone.Handouts.Start(ctx, "phone-1", wire.Hold{Delivery: h.Delivery, Token: h.Token})
		if err != nil || !started[0].OK {
			continue // it is not ours any more: do not send it
		}
		fmt.Println("sending to", h.Recipient.User, "the text:", h.Content.Text)
		answers, err := phone.Handouts.Report(ctx, "phone-1", posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeSent})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answers[0].Result, answers[0].State)
	}
	// Output:
	// sending to +8613800138000 the text: Your parcel is here.
	// done sent
}
