package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/scan"
)

// maxLine is the longest line of a journal.
const maxLine = 16 << 20

// eachLine calls read for each line that is not blank; a journal that is compressed with gzip is
// unpacked. Its errors name the journal and the line.
func eachLine(name string, r io.Reader, read func(s *scan.Line) error) error {
	lines, err := unpacked(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s := &scan.Line{}
	in := bufio.NewScanner(lines)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for in.Scan() {
		s.Row++
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		s.Begin(in.Bytes())
		err := read(s)
		if s.Err != nil {
			err = cmp.Or(in.Err(), s.Err) // a line that could not be read whole
		}
		if err != nil {
			return lineError(name, s.Row, err)
		}
	}
	if in.Err() != nil {
		return lineError(name, s.Row+1, in.Err())
	}
	return nil
}

// lineError is nil for errStop, which is no error.
func lineError(name string, line int, err error) error {
	switch {
	case errors.Is(err, errStop):
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		err = fmt.Errorf("it is longer than %d bytes", maxLine)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the compressed file is cut short here: %w", err)
	}
	return fmt.Errorf("%s: line %d: %w", name, line, err)
}

// errStop ends a walk over lines early.
var errStop = errors.New("enough")

func unpacked(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		return gzip.NewReader(in)
	}
	return in, nil
}

// nameOf is a journal's file name where it has one.
func nameOf(r io.Reader, otherwise string) string {
	if named, ok := r.(interface{ Name() string }); ok {
		return named.Name()
	}
	return otherwise
}

// ReadEvents reads an event log of one JSON object a line, also one compressed with gzip. Name says
// in errors which file it is. It may be walked once.
func ReadEvents(name string, r io.Reader) iter.Seq2[posthouse.Event, error] {
	return func(yield func(posthouse.Event, error) bool) {
		var e posthouse.Event // the last one, whose texts are likely to come again
		err := eachLine(name, r, func(s *scan.Line) error {
			last := e.Delivery
			e = scanEvent(s, &e)
			if s.Err == nil && e.Delivery < last {
				s.Err = errUnsorted(e.Delivery, last)
			}
			if s.Err == nil && !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield(posthouse.Event{}, err)
		}
	}
}

func errUnsorted(delivery, last string) error {
	return fmt.Errorf("delivery: %s comes after %s; the log must be sorted by delivery and version", delivery, last)
}

// scanEvent reads an event. Before is the one of the line before.
func scanEvent(s *scan.Line, before *posthouse.Event) (e posthouse.Event) {
	for s.Field() {
		switch string(s.Name) {
		case "delivery":
			e.Delivery = s.Like(before.Delivery)
		case "version":
			e.Version = s.Number()
		case "tenant":
			e.Tenant = s.Word()
		case "db_ts":
			e.At = s.Time()
		case "type":
			e.Type = posthouse.EventType(s.Word())
		case "from":
			e.From = posthouse.State(s.Word())
		case "to":
			e.To = posthouse.State(s.Word())
		case "token":
			e.Token = s.Number()
		case "attempt":
			e.Attempt = s.Int()
		case "owner":
			e.Owner = s.Word()
		case "lease_until":
			e.LeaseUntil = s.Time()
		case "due":
			e.Due = s.Time()
		case "reason":
			e.Reason = s.Word()
		case "epoch":
			e.Epoch = s.Number()
		case "account":
			e.Account = s.Word()
		case "tries":
			e.Tries = s.Int()
		case "class":
			e.Class = posthouse.Class(s.Word())
		case "code":
			e.Code = s.Word()
		case "message":
			e.Message = s.Like(before.Message)
		case "idem":
			e.Idem = s.Like(before.Idem)
		case "deadline":
			e.Deadline = s.Time()
		case "policy":
			e.Policy = posthouse.Policy(s.Word())
		default:
			scanExcerpts(s, &e)
		}
	}
	requireEvent(s, &e)
	return e
}

// requireEvent finds what an event lacks.
func requireEvent(s *scan.Line, e *posthouse.Event) {
	s.Require("delivery", e.Delivery != "")
	s.Require("version", e.Version != 0)
	s.Require("tenant", e.Tenant != "")
	s.Require("db_ts", !e.At.IsZero())
	s.Require("type", e.Type != "")
	s.Require("to", e.To != "")
	if s.Err == nil && !posthouse.ValidID(e.Delivery) {
		s.Err = fmt.Errorf("delivery: %q is not an id", e.Delivery)
	}
}

// scanExcerpts reads what an event has for people.
func scanExcerpts(s *scan.Line, e *posthouse.Event) {
	switch string(s.Name) {
	case "error":
		e.Error = s.Word()
	case "ref":
		e.Ref = s.Text()
	case "request":
		e.Request = s.Text()
	case "response":
		e.Response = s.Text()
	default:
		s.Unknown()
	}
}
