package local

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/chain"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
)

func chainCommand(sh *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "chain", Short: "Print the last link of the hash chain, to be kept elsewhere",
		Long: `Print the last link of the hash chain that a server with --chain makes. Keep it where whoever can
change the database cannot change it too: posthouse verify --head LINK then finds a chain that was
made anew, or cut off.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLog(sh, cmd, func(ctx context.Context, s *store.Store) error { return runChain(ctx, sh, s) })
		},
	}
	config.AddFlags(cmd.Flags(), "dsn", "read_dsn", "read_max_lag", "log_level", "log_format")
	return cmd
}

// link is the last link as it is printed.
type link struct {
	Head string    `json:"head"`
	At   time.Time `json:"at"`
}

func runChain(ctx context.Context, sh *shell.Shell, s *store.Store) error {
	last, found, err := s.Chain.LastCheckpoint(ctx, chain.AnyPass)
	if err != nil {
		return err
	}
	if !found {
		return shell.Hint(errors.New("there is no hash chain in this database"), "posthouse serve --chain 1m begins one")
	}
	out := link{chain.Head(last), last.At}
	return sh.Show(out, func() {
		sh.Printf("%s\n", out.Head)
		sh.Notef("  → made at %s\n", sh.At(out.At))
	})
}

// sealsOf compares what the hash chain sealed, nil where there is none and nobody has kept a link of one.
func sealsOf(ctx context.Context, s *store.Store, head string) (iter.Seq2[verify.Seal, error], error) {
	_, found, err := s.Chain.LastCheckpoint(ctx, chain.AnyPass)
	if err != nil || !found && head == "" {
		return nil, err
	}
	return func(yield func(verify.Seal, error) bool) {
		_, err := chain.Check(ctx, s.Chain, time.Now(), head, func(f chain.Finding) error {
			if !yield(verify.Seal(f), nil) {
				return io.EOF
			}
			return nil
		})
		if err != nil && !errors.Is(err, io.EOF) {
			yield(verify.Seal{}, err)
		}
	}, nil
}
