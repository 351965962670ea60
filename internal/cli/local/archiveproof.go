package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/archive"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/wire"
)

// signs signs an archive, and names the key.
type signs = func(text []byte) (keyID string, signature []byte)

// signing is how the server's keyring signs archives, nil where there is none. The public key is kept first, so that the archive is known
// for ours when the keyring has lost the key.
func signing(sh *shell.Shell, cmd *cobra.Command) (signs, error) {
	c, err := sh.Settings(cmd)
	if err != nil {
		return nil, err
	}
	ring, _, err := keyringOf(c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key := proof.Signing(ring)
	err = withStore(sh, cmd, changes, func(ctx context.Context, _ *shell.Shell, s *store.Store) error {
		if err := currentSchema(ctx, s); err != nil {
			return err
		}
		return s.Keys.AddProofKey(ctx, time.Now(), key.ID, key.PEM)
	})
	return func(text []byte) (string, []byte) { return key.ID, ring.Sign(text) }, err
}

func archiveProof(sh *shell.Shell) *cobra.Command {
	var f shell.ProofOptions
	cmd := &cobra.Command{
		Use: "proof FILE MESSAGE", Short: "Make a proof of a message that an archive holds, as posthouse proof does of one that is stored",
		Long: `Make a signed statement of what became of a message that an archive holds. The archive is read whole and must be one that
this installation has written and signed. The command needs the database, for the hash chain and the public keys, and the
server's keyring. Of a message that follows a route it states the notifications as they stood when the archive was written.
Hidden contents are in no archive; the statement says so.`,
		Example: `  posthouse archive proof 2026-q3.ndjson.gz 01JB2Z6N8Q4T7V0X3Y5W9A0000 --output proof.json
  posthouse proof verify proof.json --public-key keys.json`,
		Args: shell.Takes("FILE", "MESSAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Check(); err != nil {
				return err
			}
			if !posthouse.ValidID(args[1]) {
				return shell.Usagef("%.80q is no id of a message: want one such as 01JB2Z6N8Q4T7V0X3Y5W9A0000", args[1])
			}
			c, err := sh.Settings(cmd)
			if err != nil {
				return err
			}
			ring, _, err := keyringOf(c)
			if err != nil {
				return shell.Hint(fmt.Errorf("the server's keyring signs proofs, and cannot be read: %w", err), "--keyring-file names it, or POSTHOUSE_KEYRING has its keys")
			}
			return withStore(sh, cmd, changes, func(ctx context.Context, sh *shell.Shell, s *store.Store) error {
				if err := currentSchema(ctx, s); err != nil {
					return err
				}
				made, err := proven(ctx, s, ring, sh.Version, args[0], proof.Ask{Message: args[1], Person: f.Person})
				if err != nil {
					return f.Explain(err)
				}
				return f.Write(sh, made, args[1])
			})
		},
	}
	flags := cmd.Flags()
	f.AddFlags(flags)
	config.AddFlags(flags, "dsn", "keyring_file", "log_level", "log_format")
	return cmd
}

// proven makes a proof of what the archive of a file holds.
func proven(ctx context.Context, s *store.Store, ring *secret.Keyring, version, path string, ask proof.Ask) (made wire.Proof, err error) {
	found, by, err := findIn(path, ask.Message)
	if err != nil {
		return made, fmt.Errorf("%s: %w", path, err)
	}
	m := proof.New(proof.Options{Chain: s.Chain, Signer: ring, Keys: s.Keys, Version: version, Keep: -1})
	if err := m.Own(ctx, by); err != nil {
		return made, fmt.Errorf("%s: %w", path, err)
	}
	if len(found) == 0 {
		return made, posthouse.Errorf(posthouse.CodeNotFound, "%s holds no message %s", path, ask.Message)
	}
	made, err = m.MakeFrom(ctx, time.Now(), proof.Archived{Records: found, By: by, Attempts: reading.AttemptsOf}, ask)
	if err != nil {
		return made, err
	}
	return made, noted(ctx, s, found[0].Deliveries[0].Tenant, "proofs.read", ask.Message, 0)
}

func findIn(path, message string) ([]archive.Record, archive.Seal, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator's own file
	if err != nil {
		var wrong *fs.PathError
		if errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, archive.Seal{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return archive.Find(file, message)
}
