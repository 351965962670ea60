package posthouse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"

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

// Bulk is a server for campaigns until in ends. It says on out where it is and which key opens it. Each line of in names a file:
// a profile of the processor goes to it until the next line, and to the file of the same name with .heap behind it what is then in use.
// An empty line is for none.
func Bulk(ctx context.Context, dsn, post string, in io.Reader, out io.Writer) error {
	defer trial.AsServed()()
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
	err := profiled(in)
	return errors.Join(err, q.server.Stop(context.WithoutCancel(ctx)))
}

// profiled writes profiles until in ends.
func profiled(in io.Reader) error {
	var file *os.File
	end := func() error {
		if file == nil {
			return nil
		}
		pprof.StopCPUProfile()
		heap, err := os.Create(file.Name() + ".heap")
		if err == nil {
			err = errors.Join(pprof.WriteHeapProfile(heap), heap.Close())
		}
		err = errors.Join(err, file.Close())
		file = nil
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		err := end()
		if err == nil && lines.Text() != "" {
			if file, err = os.Create(lines.Text()); err == nil {
				err = pprof.StartCPUProfile(file)
			}
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), end())
}
