package posthouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/secret"
)

// Fill leaves n messages waiting, of a channel that posts each, with so many under way in a process.
func Fill(ctx context.Context, dsn, post string, inflight, n int) (err error) {
	q := &Queue{dsn: dsn, key: secret.FormatKey(secret.NewKey()), handling: trial.Handling{Workers: inflight, Post: post}}
	q.accept = q.acceptGo
	if err := q.serve(ctx, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.server.Stop(context.WithoutCancel(ctx))) }()
	if err := q.server.Start(ctx); err != nil {
		return err
	}
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = "message"
	}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for done := 0; done < n/len(errs) && errs[i] == nil; done += len(texts) {
				errs[i] = q.Accept(ctx, texts)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Process is a server that sends what waits, until in ends. It says on out when it has begun.
func Process(ctx context.Context, dsn string, in io.Reader, out io.Writer) error {
	defer trial.AsServed()()
	q := &Queue{dsn: dsn, key: secret.FormatKey(secret.NewKey())}
	if err := q.make(ctx, false); err != nil {
		return err
	}
	if err := q.server.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	_, err := io.Copy(io.Discard, in)
	return errors.Join(err, q.server.Stop(context.WithoutCancel(ctx)))
}
