package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line: a message with as many deliveries as it may have stays far below.
const maxLine = 1 << 30

// Read reads an archive and calls each for every record, in the order of their ids. It returns what the archive says it holds
// after it has compared that with what it does hold; an error names the line.
func Read(from io.Reader, each func(*Record) error) (Range, Totals, error) {
	r, err := scan(from, each)
	return r.asked, r.found, err
}

// Find reads an archive as Read does, and returns the records of a message, none where it has none, and who has written it. A message that
// follows a route has one for each message that its steps have sent.
func Find(from io.Reader, id string) (found []Record, by Seal, err error) {
	r, err := scan(from, func(rec *Record) error {
		if rec.Of(id) {
			rec.Message.Trace = rec.Trace
			found = append(found, *rec)
		}
		return nil
	})
	if err != nil {
		return nil, by, err
	}
	return found, r.by, nil
}

func scan(from io.Reader, each func(*Record) error) (*reader, error) {
	r := &reader{each: each, sum: sha256.New()}
	packed, err := gzip.NewReader(bufio.NewReaderSize(from, 256<<10))
	if err != nil {
		return r, fmt.Errorf("this is no archive: %w", err)
	}
	in := bufio.NewScanner(packed)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for in.Scan() {
		r.line++
		if err := r.take(in.Bytes()); err != nil && in.Err() == nil { // else the line is half of one
			return r, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && !r.ended:
		return r, fmt.Errorf("line %d: the archive is cut off", max(r.line, 1))
	case err != nil:
		return r, fmt.Errorf("line %d: %w", max(r.line, 1), err)
	}
	return r, nil
}

type reader struct {
	each  func(*Record) error
	asked Range
	found Totals
	sum   interface {
		io.Writer
		Sum([]byte) []byte
	}
	line  int
	last  string // message
	by    Seal
	ended bool
}

func (r *reader) take(text []byte) error {
	switch {
	case r.ended:
		return errors.New("there is something behind the last line")
	case r.line == 1:
		var h head
		if err := strict(text, &h); err != nil || h.Format != format {
			return errors.New("this is no archive of Posthouse")
		}
		if h.Version < 1 || h.Version > version {
			return fmt.Errorf("the archive has the form %d, and this program reads up to %d", h.Version, version)
		}
		r.asked = h.Range
	case bytes.HasPrefix(text, []byte(`{"totals":`)):
		return r.end(text)
	default:
		if err := r.record(text); err != nil {
			return err
		}
	}
	r.sum.Write(text)         //nolint:errcheck // a hash takes everything
	r.sum.Write([]byte{'\n'}) //nolint:errcheck // a hash takes everything
	return nil
}

func (r *reader) record(text []byte) error {
	var rec Record
	if err := strict(text, &rec); err != nil {
		return err
	}
	if rec.Message.ID <= r.last {
		return fmt.Errorf("message %s comes after %s", rec.Message.ID, r.last)
	}
	if !r.asked.fits(rec.Deliveries) || !complete(rec.Deliveries, rec.Events) {
		return fmt.Errorf("message %s is not whole, or does not belong here", rec.Message.ID)
	}
	r.last = rec.Message.ID
	r.found.add(&rec)
	return r.each(&rec)
}

func (r *reader) end(text []byte) error {
	var f foot
	if err := strict(text, &f); err != nil {
		return err
	}
	r.ended, r.by = true, Seal{f.SHA256, f.KeyID, f.Signature}
	if f.Totals != r.found {
		return fmt.Errorf("the archive says that it holds %d messages, %d deliveries and %d events, and holds %d, %d and %d",
			f.Totals.Messages, f.Totals.Deliveries, f.Totals.Events, r.found.Messages, r.found.Deliveries, r.found.Events)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != f.SHA256 {
		return fmt.Errorf("the archive was changed: its lines have the SHA-256 %s, and the last line says %s", sum, f.SHA256)
	}
	return nil
}

func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
