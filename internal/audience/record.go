package audience

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxRecord bounds one record of a file, in bytes: what a member's variables may hold, and its address.
const MaxRecord = 256 << 10

// Position is where a reader stands in a file: behind a whole record, or within a line that is too long.
type Position struct {
	Offset int64 // in bytes, after decompression
	Line   int64 // of the next byte, from 1. Defaults to 1.
	// Skip is set within the rest of a line that was refused for its length.
	Skip bool
	// Columns are the names of a CSV's columns, once they are known.
	Columns []string
}

// records cuts a file into records. It never holds more than twice MaxRecord of it.
type records struct {
	in    io.Reader
	all   []byte // the room that buf is in
	buf   []byte // of in, from at on
	at    Position
	err   error     // of in, once it has ended
	whole bool      // what stands behind the last line's end is a record too
	sum   io.Writer // takes what was passed; nil for none
	end   func(b []byte) (n int, quote int)
}

func newRecords(in io.Reader, at Position, whole bool, end func(b []byte) (int, int)) *records {
	at.Line = max(at.Line, 1)
	r := &records{in: in, at: at, whole: whole, end: end, all: make([]byte, 2*MaxRecord)}
	r.buf = r.all[:0]
	return r
}

// record is one record as it stands in the file, without its line's end. It holds until the next call.
type record struct {
	text  []byte
	line  int64
	wrong *Refused // set where it is cut off
}

// next finds the next record. io.EOF says that there is none, or only a part of one.
func (r *records) next() (record, error) {
	for {
		if r.at.Skip {
			if err := r.skip(); err != nil {
				return record{}, err
			}
		}
		n, quote := r.end(r.buf)
		switch {
		case n > 0 && n <= MaxRecord:
			return r.take(n), nil
		case n > 0 || len(r.buf) >= MaxRecord:
			return r.cut(quote, fmt.Sprintf("within %d bytes", MaxRecord)), nil
		case r.err == nil:
			r.fill()
		case !errors.Is(r.err, io.EOF) || !r.whole || len(r.buf) == 0:
			return record{}, r.err
		case quote >= 0:
			return r.cut(quote, "before the file ends"), nil
		default:
			return r.take(len(r.buf)), nil
		}
	}
}

// lines are the whole lines that were read behind the last record.
func (r *records) lines() []byte { return r.buf[:bytes.LastIndexByte(r.buf, '\n')+1] }

// take makes the first n bytes a record.
func (r *records) take(n int) record {
	text := r.buf[:n]
	rec := record{text: bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")), line: r.at.Line}
	r.pass(n)
	return rec
}

// pass leaves n bytes behind.
func (r *records) pass(n int) {
	if r.sum != nil {
		_, _ = r.sum.Write(r.buf[:n]) // a hash takes anything
	}
	r.at.Offset += int64(n)
	r.at.Line += int64(bytes.Count(r.buf[:n], []byte("\n")))
	r.buf = r.buf[n:]
}

// cut refuses the first line of what has no end where it should have one, and goes on behind that line: a quote that is
// never closed must not swallow all that follows.
func (r *records) cut(quote int, where string) record {
	rec := record{line: r.at.Line, wrong: &Refused{Line: r.at.Line, Column: 1, Reason: fmt.Sprintf("the line does not end within %d bytes", MaxRecord)}}
	if quote >= 0 {
		before := r.buf[:quote]
		rec.wrong.Line += int64(bytes.Count(before, []byte("\n")))
		rec.wrong.Column = columnOf(before[bytes.LastIndexByte(before, '\n')+1:])
		rec.wrong.Reason = "a quote opens here and is not closed " + where
	}
	if n := bytes.IndexByte(r.buf, '\n'); n >= 0 {
		rec.text = r.buf[:n]
		r.pass(n + 1)
		return rec
	}
	rec.text = bytes.Clone(r.buf[:min(len(r.buf), 4*maxExcerpt)])
	r.at.Skip = true
	return rec
}

// skip passes the rest of a line that is too long, however long it is.
func (r *records) skip() error {
	for {
		if n := bytes.IndexByte(r.buf, '\n'); n >= 0 {
			r.pass(n + 1)
			r.at.Skip = false
			return nil
		}
		r.pass(len(r.buf))
		if r.err != nil {
			return r.err
		}
		r.fill()
	}
}

// fill reads on, after what is left was moved to the beginning.
func (r *records) fill() {
	if cap(r.buf)-len(r.buf) < MaxRecord/4 {
		r.buf = r.all[:copy(r.all, r.buf)]
	}
	n, err := r.in.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	r.err = err
}

// lineEnd is how many bytes the first line takes with its end, 0 where it has none yet.
func lineEnd(b []byte) (n, quote int) { return bytes.IndexByte(b, '\n') + 1, -1 }
