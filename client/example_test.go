package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

func ExampleMessages_Send() {
	ctx := context.Background()
	c, stop := start() // client.New(client.Options{URL: "http://127.0.0.1:8080", Key: "ph_…"})
	defer stop()
	if _, _, err := c.Channels.Put(ctx, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		fmt.Println(err)
		return
	}
	sent, err := c.Messages.Send(ctx, posthouse.Draft{
		Channel: "oa",
		To:      []posthouse.Recipient{{User: "u1"}, {User: "u2"}},
		Content: &posthouse.Content{Title: "Duty", Text: "You are on duty tomorrow."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range sent.Accepted[0].Deliveries {
		fmt.Println(d.User, d.State)
	}
	// Output:
	// u1 pending
	// u2 pending
}

func ExampleMessages_SendOnce() {
	ctx := context.Background()
	c, stop := start()
	defer stop()
	if _, _, err := c.Channels.Put(ctx, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		fmt.Println(err)
		return
	}
	order := posthouse.Draft{Channel: "oa", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "Order 7 is ready."}}
	for range 2 { // a program that crashed before it read the answer asks again
		sent, err := c.Messages.SendOnce(ctx, "order-7-ready", order)
		fmt.Println(len(sent.Accepted), sent.Replayed, err)
	}
	// Output:
	// 1 false <nil>
	// 1 true <nil>
}

// Every error that the server answers is a *posthouse.Error with all that is wrong.
func ExampleMessages_Send_wrong() {
	c, stop := start()
	defer stop()
	_, err := c.Messages.Send(context.Background(), posthouse.Draft{Channel: "oa", Priority: "urgent"})
	var wrong *posthouse.Error
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Code)
		for _, p := range wrong.Problems {
			fmt.Println(p.Path, p.Message)
		}
	}
	// Output:
	// invalid
	// messages[0].priority is "urgent": want high, normal or low
	// messages[0].to is required: 1 to 1000 recipients
	// messages[0].content is required, or a template with a payload
	// messages[0].channel there is no channel "oa"; no channels are configured yet
}

func ExampleAll() {
	ctx := context.Background()
	c, stop := start()
	defer stop()
	if _, err := c.Users.Put(ctx, posthouse.User{ID: "u1", Name: "李四"}, posthouse.User{ID: "u2", Name: "王五"}); err != nil {
		fmt.Println(err)
		return
	}
	for u, err := range client.All(ctx, c.Users.List, client.Filter{Limit: 1}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u.ID, u.Name)
	}
	// Output:
	// u1 李四
	// u2 王五
}

// start runs a server in this process for the examples, and returns its client.
func start() (c *client.Client, stop func()) {
	c, _, stop = startAt()
	return c, stop
}

// startAt is start with the server's address.
func startAt() (c *client.Client, url string, stop func()) {
	folder, err := os.MkdirTemp("", "posthouse-example-")
	if err != nil {
		panic(err)
	}
	url, key, end, err := serve(folder)
	if err != nil {
		panic(err)
	}
	if c, err = client.New(client.Options{URL: url, Key: key}); err != nil {
		panic(err)
	}
	return c, url, func() {
		if err := errors.Join(end(), os.RemoveAll(folder)); err != nil {
			panic(err)
		}
	}
}
