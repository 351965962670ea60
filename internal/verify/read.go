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
)

// maxLine is the longest line of a journal.
const maxLine = 16 << 20

// eachLine calls read for each line that is not blank; a journal that is compressed with gzip is
// unpacked. Its errors name the journal and the line.
func eachLine(name string, r io.Reader, read func(s *scan) error) error {
	lines, err := unpacked(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s := &scan{}
	in := bufio.NewScanner(lines)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for in.Scan() {
		s.row++
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		s.begin(in.Bytes())
		err := read(s)
		if s.err != nil {
			err = cmp.Or(in.Err(), s.err) // a line that could not be read whole
		}
		if err != nil {
			return lineError(name, s.row, err)
		}
	}
	if in.Err() != nil {
		return lineError(name, s.row+1, in.Err())
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
		err := eachLine(name, r, func(s *scan) error {
			last := e.Delivery
			e = scanEvent(s, &e)
			if s.err == nil && e.Delivery < last {
				s.err = errUnsorted(e.Delivery, last)
			}
			if s.err == nil && !yield(e, nil) {
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
func scanEvent(s *scan, before *posthouse.Event) (e posthouse.Event) {
	for s.field() {
		switch string(s.name) {
		case "delivery":
			e.Delivery = s.like(before.Delivery)
		case "version":
			e.Version = s.number()
		case "tenant":
			e.Tenant = s.word()
		case "db_ts":
			e.At = s.time()
		case "type":
			e.Type = posthouse.EventType(s.word())
		case "from":
			e.From = posthouse.State(s.word())
		case "to":
			e.To = posthouse.State(s.word())
		case "token":
			e.Token = s.number()
		case "attempt":
			e.Attempt = s.int()
		case "owner":
			e.Owner = s.word()
		case "lease_until":
			e.LeaseUntil = s.time()
		case "due":
			e.Due = s.time()
		case "reason":
			e.Reason = s.word()
		case "epoch":
			e.Epoch = s.number()
		case "account":
			e.Account = s.word()
		case "tries":
			e.Tries = s.int()
		case "class":
			e.Class = posthouse.Class(s.word())
		case "code":
			e.Code = s.word()
		case "message":
			e.Message = s.like(before.Message)
		case "idem":
			e.Idem = s.like(before.Idem)
		case "deadline":
			e.Deadline = s.time()
		case "policy":
			e.Policy = posthouse.Policy(s.word())
		default:
			scanExcerpts(s, &e)
		}
	}
	requireEvent(s, &e)
	return e
}

// requireEvent finds what an event lacks.
func requireEvent(s *scan, e *posthouse.Event) {
	s.require("delivery", e.Delivery != "")
	s.require("version", e.Version != 0)
	s.require("tenant", e.Tenant != "")
	s.require("db_ts", !e.At.IsZero())
	s.require("type", e.Type != "")
	s.require("to", e.To != "")
	if s.err == nil && !posthouse.ValidID(e.Delivery) {
		s.err = fmt.Errorf("delivery: %q is not an id", e.Delivery)
	}
}

// scanExcerpts reads what an event has for people.
func scanExcerpts(s *scan, e *posthouse.Event) {
	switch string(s.name) {
	case "error":
		e.Error = s.word()
	case "ref":
		e.Ref = s.string()
	case "request":
		e.Request = s.string()
	case "response":
		e.Response = s.string()
	default:
		s.unknown()
	}
}
