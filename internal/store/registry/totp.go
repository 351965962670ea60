package registry

import (
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

const totpColumns = "totp, totp_since, totp_step, totp_spare, totp_wrong, totp_wrong_since"

func readTOTP(scan sqldb.Scanner) (f work.TOTP, err error) {
	var since, wrongSince int64
	var spare string
	err = scan(&f.Secret, &since, &f.Step, &spare, &f.Wrong, &wrongSince)
	f.Since, f.WrongSince, f.Spare = sqldb.TimeOf(since), sqldb.TimeOf(wrongSince), strings.Fields(spare)
	return f, err
}

// TOTP reads how a person makes one-time codes; without a secret where the person does not.
func (s People) TOTP(ctx context.Context, person string) (work.TOTP, error) {
	f, found, err := sqldb.First(s.db.Reads(ctx), readTOTP, "SELECT "+totpColumns+" FROM posthouse_people WHERE name = ?", person)
	if err == nil && !found {
		return f, noPerson(person)
	}
	return f, s.db.Coded(err, "read how a person makes codes")
}

// ChangeTOTP lets change say what it is from now, given what stands and the time: nobody else changes it meanwhile. It may be
// called again after a conflict. An error of change changes nothing.
func (s People) ChangeTOTP(ctx context.Context, now time.Time, person string, change func(f *work.TOTP, now time.Time) error) error {
	return s.db.Change(ctx, now, "change how a person makes codes", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		f, found, err := sqldb.First(t.Query, readTOTP, "SELECT "+totpColumns+" FROM posthouse_people WHERE name = ?"+t.DB.Dialect.Lock, person)
		if err == nil && !found {
			err = noPerson(person)
		}
		if err == nil {
			err = change(&f, sqldb.TimeOf(at))
		}
		if err == nil {
			_, err = t.Exec("UPDATE posthouse_people SET totp = ?, totp_since = ?, totp_step = ?, totp_spare = ?, totp_wrong = ?, totp_wrong_since = ? WHERE name = ?",
				f.Secret, sqldb.Micros(f.Since), f.Step, strings.Join(f.Spare, " "), f.Wrong, sqldb.Micros(f.WrongSince), person)
		}
		return err
	})
}

// SealedTOTPs lists the sealed secrets of all people.
func (s People) SealedTOTPs(ctx context.Context) ([]work.SealedTOTP, error) {
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (v work.SealedTOTP, err error) { return v, scan(&v.Person, &v.Secret) },
		"SELECT name, totp FROM posthouse_people WHERE totp <> '' ORDER BY name")
	return list, s.db.Coded(err, "look for the secrets of one-time codes")
}

// ResealTOTP replaces a person's secret by the same sealed anew, unless it was replaced meanwhile.
func (s People) ResealTOTP(ctx context.Context, now time.Time, old work.SealedTOTP, secret string) error {
	return s.db.Change(ctx, now, "seal a secret anew", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_people SET totp = ? WHERE name = ? AND totp = ?", secret, old.Person, old.Secret)
		return err
	})
}
