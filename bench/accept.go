package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/server"
)

// payload is the text of every message: 256 bytes.
var payload = strings.Repeat("posthouse ", 25) + "256 by"

func draft(channel string) posthouse.Draft {
	return posthouse.Draft{
		Channel: channel, To: []posthouse.Recipient{{User: "u1", Address: "a1"}}, Content: &posthouse.Content{Text: payload},
	}
}

// produce runs one function in many producers for a while and says how many calls a second ended.
func produce(ctx context.Context, o options, each int, once func(ctx context.Context) error) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.seconds)
	defer cancel()
	var n atomic.Int64
	var failed atomic.Value
	var wg sync.WaitGroup
	start := time.Now()
	for range o.producers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := once(context.WithoutCancel(ctx)); err != nil {
					failed.Store(err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if err, ok := failed.Load().(error); ok {
		return "", err
	}
	return perSecond(int(n.Load())*each, time.Since(start)), nil
}

func perSecond(n int, took time.Duration) string {
	return fmt.Sprintf("%s/s", thousands(int(float64(n)/took.Seconds())))
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func acceptGo(ctx context.Context, dsn string, o options) (string, error) {
	return withServer(ctx, server.Options{DSN: dsn, AcceptOnly: true}, func(s *bench) (string, error) {
		return produce(ctx, o, 1, func(ctx context.Context) error {
			_, err := s.Engine().Accept(ctx, engine.Request{Tenant: posthouse.DefaultTenant, Drafts: []posthouse.Draft{draft("noop")}})
			return err
		})
	})
}

func acceptBatch(ctx context.Context, dsn string, o options) (string, error) {
	drafts := make([]posthouse.Draft, 1000)
	for i := range drafts {
		drafts[i] = draft("noop")
	}
	o.producers = 4
	return withServer(ctx, server.Options{DSN: dsn, AcceptOnly: true}, func(s *bench) (string, error) {
		return produce(ctx, o, len(drafts), func(ctx context.Context) error {
			_, err := s.Engine().Accept(ctx, engine.Request{Tenant: posthouse.DefaultTenant, Drafts: drafts})
			return err
		})
	})
}

func acceptHTTP(ctx context.Context, dsn string, o options) (string, error) {
	return withServer(ctx, server.Options{DSN: dsn, AcceptOnly: true}, func(s *bench) (string, error) {
		body := []byte(`{"channel":"noop","to":[{"user":"u1","address":"a1"}],"content":{"text":"` + payload + `"}}`)
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.producers}}
		defer client.CloseIdleConnections()
		return produce(ctx, o, 1, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", bytes.NewReader(body))
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+s.key)
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusAccepted {
				text, _ := io.ReadAll(resp.Body)
				return fmt.Errorf("status %d: %s", resp.StatusCode, text)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	})
}
