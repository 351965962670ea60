package registry

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// proofKey begins the rows of meta that keep the public keys of proofs. Their value is when the key was kept first, in microseconds, a
// space, and the key.
const proofKey = "proof_key/"

// AddProofKey keeps a public key that proofs are signed with: for good, as a proof is checked long after its key was replaced.
func (s Keys) AddProofKey(ctx context.Context, now time.Time, id, pem string) error {
	return s.db.Change(ctx, now, "keep the public key of proofs", func(t *sqldb.Tx) error {
		if err := t.Serialize(); err != nil { // of two processes, one adds the row
			return err
		}
		_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT name FROM posthouse_meta WHERE name = ?", proofKey+id)
		if err != nil || found {
			return err
		}
		at, err := t.Now()
		if err == nil {
			_, err = t.Exec("INSERT INTO posthouse_meta (name, value) VALUES (?, ?)", proofKey+id, strconv.FormatInt(at, 10)+" "+pem)
		}
		return err
	})
}

// ProofKeys are all public keys that proofs were ever signed with, the oldest first.
func (s Keys) ProofKeys(ctx context.Context) ([]work.ProofKey, error) {
	read := func(scan sqldb.Scanner) (work.ProofKey, error) {
		var k work.ProofKey
		var value string
		err := scan(&k.ID, &value)
		k.ID = strings.TrimPrefix(k.ID, proofKey)
		at, pem, _ := strings.Cut(value, " ")
		micros, _ := strconv.ParseInt(at, 10, 64) // we wrote it
		k.Since, k.PEM = sqldb.TimeOf(micros), pem
		return k, err
	}
	list, err := sqldb.All(s.db.Reads(ctx), read, "SELECT name, value FROM posthouse_meta WHERE name LIKE '"+proofKey+"%' ORDER BY value")
	return list, s.db.Coded(err, "read the public keys of proofs")
}
