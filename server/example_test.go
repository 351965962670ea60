package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

// A server is made, started and stopped. One that is embedded accepts by a call, and listens nowhere.
func ExampleServer() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	sent := make(chan posthouse.Event, 1)
	s, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + filepath.Join(dir, "posthouse.db"), NoListen: true,
		Announce: func(string) {}, // the first API key
		OnEvents: func(events []posthouse.Event) { sent <- events[len(events)-1] },
		Log:      slog.New(slog.DiscardHandler), Output: io.Discard,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop(ctx)
	if err := s.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.PutChannel(ctx, "", posthouse.Channel{Name: "notes", Driver: "console"}); err != nil {
		fmt.Println(err)
		return
	}
	accepted, err := s.Accept(ctx, "", posthouse.Draft{
		Channel: "notes", To: []posthouse.Recipient{{User: "anna"}}, Content: &posthouse.Content{Text: "Dinner is ready."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := <-sent
	fmt.Println(e.Delivery == accepted[0].Deliveries[0].ID, e.To)
	// What is wrong with a message is said at once, with the place of each fault.
	_, err = s.Accept(ctx, "", posthouse.Draft{Channel: "notes"})
	fmt.Println(posthouse.CodeOf(err))
	// Output:
	// true sent
	// invalid
}
