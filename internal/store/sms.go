package store

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// errUnbuilt marks what is being built.
var errUnbuilt = errors.New("not built yet")

// AddReceived writes lines of the log of requests.
func (s *Store) AddReceived(ctx context.Context, now time.Time, lines []work.Line) error {
	return errUnbuilt
}

// Log lists the lines of a log, newest first.
func (s *Store) Log(ctx context.Context, f work.LogFilter) (list []work.Line, next string, err error) {
	return nil, "", errUnbuilt
}

// PruneLogs deletes up to max lines of each log that are older than keep.
func (s *Store) PruneLogs(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error) {
	return 0, errUnbuilt
}

// AddSMSTemplate stores a template under the next number, in the table sms_texts: sms_templates is a view.
func (s *Store) AddSMSTemplate(ctx context.Context, now time.Time, t work.SMSTemplate) (work.SMSTemplate, error) {
	return t, errUnbuilt
}

// SetSMSTemplate makes a template active, or not.
func (s *Store) SetSMSTemplate(ctx context.Context, now time.Time, tenant string, id int64, active bool) error {
	return errUnbuilt
}

// SMSTemplates lists the templates of a tenant by number.
func (s *Store) SMSTemplates(ctx context.Context, tenant string) ([]work.SMSTemplate, error) {
	return nil, errUnbuilt
}

// PutDefaultSMS sets what a phone is sent without a content, as a new generation.
func (s *Store) PutDefaultSMS(ctx context.Context, now time.Time, d work.DefaultSMS) (work.DefaultSMS, error) {
	return d, errUnbuilt
}

// DefaultSMS reads a phone's default content, and whether a message on the channel has taken it.
func (s *Store) DefaultSMS(ctx context.Context, tenant, channel, phone string) (d work.DefaultSMS, found bool, err error) {
	return d, false, errUnbuilt
}
