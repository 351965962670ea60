package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// Open opens a library on an empty database.
type Open func(ctx context.Context, dsn string) (Queue, error)

// Serve runs the one trial whose Spec is read from in, on the library it names, and
// writes its Outcome to out.
func Serve(ctx context.Context, libraries map[string]Open, in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read the trial: %w", err)
	}
	open, ok := libraries[s.Library]
	if !ok {
		return fmt.Errorf("there is no library %q", s.Library)
	}
	defer AsServed()()
	q, err := open(ctx, s.DSN)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Library, err)
	}
	o, err := Run(ctx, s, q)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(o)
}

// AsServed has this process collect garbage as posthouse serve does, until what it returns is called: the same for all
// contenders.
func AsServed() (end func()) {
	debug.SetGCPercent(200)
	spare := make([]byte, 16<<20) // counted as live, never touched
	return func() { runtime.KeepAlive(spare) }
}
