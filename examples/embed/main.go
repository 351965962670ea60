// Command embed is a program that has Posthouse inside: its own driver sends the messages, its own HTTP server serves
// the API beside its own pages, and it hears what becomes of each delivery. Run it with
//
//	go run ./examples/embed
//
// It uses public packages only, so it works as well in a module of its own. Nothing listens but the program: an
// embedded server shares its process, its log and its registry of metrics.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run starts the program, sends one message by a call and one by HTTP, and prints what became of them.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "posthouse-embed")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sent := make(chan posthouse.Event, 10)
	first := make(chan string, 1)
	house, err := server.New(ctx, server.Options{
		DSN: "sqlite:" + filepath.Join(dir, "posthouse.db"), NoListen: true,
		Drivers:  append(builtin.Types(), pager(out)),
		Announce: func(key string) { first <- key },
		OnEvents: func(events []posthouse.Event) {
			for _, e := range events {
				sent <- e
			}
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, house.Stop(context.WithoutCancel(ctx))) }()
	if err := house.Start(ctx); err != nil {
		return err
	}
	if _, err := house.PutChannel(ctx, posthouse.DefaultTenant, posthouse.Channel{Name: "pager", Driver: "pager"}); err != nil {
		return err
	}
	if _, err := house.Accept(ctx, posthouse.DefaultTenant, page("anna", "the build is green")); err != nil {
		return err
	}
	if err := tell(ctx, out, sent); err != nil {
		return err
	}
	url, end, err := serve(ctx, house)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c, err := client.New(client.Options{URL: url, Key: <-first})
	if err != nil {
		return err
	}
	if _, err := c.Messages.Send(ctx, page("ben", "the build is red")); err != nil {
		return err
	}
	return tell(ctx, out, sent)
}

// page is a message to one person.
func page(to, text string) posthouse.Draft {
	return posthouse.Draft{Channel: "pager", To: []posthouse.Recipient{{User: to}}, Content: &posthouse.Content{Text: text}}
}

// tell prints the next event.
func tell(ctx context.Context, out io.Writer, events <-chan posthouse.Event) error {
	select {
	case e := <-events:
		_, err := fmt.Fprintf(out, "  and the delivery went from %s to %s\n", e.From, e.To)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve puts the API below the program's own pages.
func serve(ctx context.Context, house *server.Server) (url string, end func() error, err error) {
	pages := http.NewServeMux()
	pages.Handle("/v1/", house.Handler())
	pages.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the program's own page") })
	at, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: pages, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan error, 1)
	go func() { done <- web.Serve(at) }()
	return "http://" + at.Addr().String(), func() error {
		err := web.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// pager is the program's own driver.
func pager(out io.Writer) channel.Type {
	return channel.Type{
		Name: "pager", Title: "Pager", Doc: "Prints a page.", MaxBatch: 1, Window: channel.Forever,
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return printer{out}, nil },
	}
}

type printer struct{ out io.Writer }

// Send prints one message.
func (p printer) Send(_ context.Context, out channel.Outgoing) channel.Result {
	if _, err := fmt.Fprintf(p.out, "%s is paged: %s\n", out.Recipient.User, out.Content.Text); err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Error: err.Error()}
	}
	return channel.Result{Class: posthouse.ClassOK}
}
