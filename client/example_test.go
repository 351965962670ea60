package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
)

// Send a message to two people and look what became of it. A mistake is told with the path of its
// field.
func Example() {
	url, key, stop := start()
	defer stop()
	ctx := context.Background()

	c, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		panic(err)
	}
	if _, _, err := c.PutChannel(ctx, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		panic(err)
	}
	if _, err := c.PauseChannel(ctx, "oa", "the OA moves house"); err != nil {
		panic(err)
	}

	sent, err := c.Send(ctx, posthouse.Draft{
		Channel: "oa",
		To:      []posthouse.Recipient{{User: "li.na"}, {User: "wang.fang"}},
		Content: &posthouse.Content{Text: "You are on duty tomorrow."},
	})
	if err != nil {
		panic(err)
	}
	for _, d := range sent.Accepted[0].Deliveries {
		why, err := c.Explain(ctx, d.ID)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s, %s\n", d.User, d.State, why.Waits[0].Detail)
	}

	_, err = c.Send(ctx, posthouse.Draft{Channel: "oa", Content: &posthouse.Content{Text: "To whom?"}})
	var refused *posthouse.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Problems[0].Path)
	}
	// Output:
	// li.na: pending, the OA moves house
	// wang.fang: pending, the OA moves house
	// invalid messages[0].to
}

// A program that may start again chooses its own Idempotency-Key, and repeats what it does not know
// the outcome of.
func ExampleClient_SendOnce() {
	url, key, stop := start()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		panic(err)
	}
	if _, _, err := c.PutChannel(ctx, posthouse.Channel{Name: "oa", Driver: "discard"}); err != nil {
		panic(err)
	}
	bill := posthouse.Draft{Channel: "oa", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "Your bill is ready."}}
	for range 2 {
		sent, err := c.SendOnce(ctx, "bill-2026-10", bill)
		if err != nil {
			panic(err)
		}
		fmt.Println(len(sent.Accepted), sent.Replayed)
	}
	// Output:
	// 1 false
	// 1 true
}

// All goes through a list of any length.
func ExampleAll() {
	url, key, stop := start()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Options{URL: url, Key: key})
	if err != nil {
		panic(err)
	}
	if _, err := c.PutUsers(ctx, posthouse.User{ID: "li.na"}, posthouse.User{ID: "wang.fang"}, posthouse.User{ID: "zhao.min"}); err != nil {
		panic(err)
	}
	for u, err := range client.All(ctx, c.Users, client.Filter{Limit: 2}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(u.ID)
	}
	// Output:
	// li.na
	// wang.fang
	// zhao.min
}

// start runs a server in this process, for the examples. Programs call one that is there.
func start() (url, key string, stop func()) {
	dir, err := os.MkdirTemp("", "posthouse-example-")
	if err != nil {
		panic(err)
	}
	key = secret.FormatKey(secret.NewKey())
	s, err := server.New(context.Background(), server.Options{
		DSN: "sqlite:" + dir + "/posthouse.db", Addr: "127.0.0.1:0", AdminKey: key, Log: slog.New(slog.DiscardHandler), Output: io.Discard,
	})
	if err != nil {
		panic(err)
	}
	if err := s.Start(context.Background()); err != nil {
		panic(err)
	}
	return s.URL(), key, func() {
		s.Stop(context.Background())
		os.RemoveAll(dir)
	}
}
