package posthouse

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/secret"
)

// The channels of a bulk server: one that does nothing, and one that posts.
const (
	BulkNothing = "nothing"
	BulkPost    = "post"
)

// bulkInflight is how many members each channel has under way at most.
const bulkInflight = 1024

// Bulk is a server for campaigns until in ends. It says on out where it is and which key opens it.
func Bulk(ctx context.Context, dsn, post string, in io.Reader, out io.Writer) error {
	q := &Queue{dsn: dsn, key: secret.FormatKey(secret.NewKey())}
	q.handling = trial.Handling{Workers: bulkInflight, Handle: func(context.Context, string) error { return nil }}
	if err := q.make(ctx, false); err != nil {
		return err
	}
	for _, name := range []string{BulkNothing, BulkPost} {
		if name == BulkPost {
			q.handling.Post = post
		}
		ch := q.channel()
		ch.Name = name
		if _, err := q.server.PutChannel(ctx, posthouse.DefaultTenant, ch); err != nil {
			return err
		}
	}
	if err := q.server.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, q.server.URL(), q.key)
	_, err := io.Copy(io.Discard, in)
	return errors.Join(err, q.server.Stop(context.WithoutCancel(ctx)))
}
