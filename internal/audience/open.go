package audience

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

// windowMax bounds the memory that a compressed file may ask for.
const windowMax = 8 << 20

// A compressed file may hold so much more than its size. Lists of people take a tenth to a fiftieth of their size; what takes less than a
// two-hundredth is made to keep us busy.
const (
	mostTimes = 200
	freely    = 16 << 20 // bytes that any file may hold
)

// File is a file as text.
type File struct {
	io.ReadCloser
	From   Encoding // what it is converted from to UTF-8, empty where it is not
	Sheet  string   // of a workbook: the one that is read
	Sheets []string // of a workbook: those with something in them
}

// Open reads a file as text: one that is compressed by gzip or zstd, a sheet of a workbook (.xlsx) as a CSV, and UTF-16 as UTF-8, all of which
// the first bytes tell. The sheet is the one that the format says, else the first with a column of addresses, as keep says, else the first. Close
// frees what that takes, and leaves in open.
func Open(in io.Reader, f Format, keep func(string) (string, error)) (File, error) {
	text, err := open(in, f, keep)
	if err != nil {
		return File{}, err
	}
	out := File{ReadCloser: text}
	switch is := text.(type) {
	case *book:
		out.Sheet, out.Sheets = is.sheet, is.sheets
	case *converted:
		out.From = is.from
	}
	return out, nil
}

func open(in io.Reader, f Format, keep func(string) (string, error)) (io.ReadCloser, error) {
	from := &source{in: in}
	b := bufio.NewReaderSize(from, 64<<10)
	head, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(head, zipMagic):
		return openBook(from, b, f, keep)
	case bytes.HasPrefix(oleMagic, head) && len(head) == 4:
		return nil, &FileError{"the file is a workbook of old Excel (.xls) or has a password: save it as .xlsx without one, or as CSV UTF-8"}
	case f.Sheet != "":
		return nil, &FileError{fmt.Sprintf("the file is no workbook (.xlsx): it has no sheet %.60q", f.Sheet)}
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, from.fault("gzip", err)
		}
		return inUTF8(&unzipped{Reader: z, close: z.Close, name: "gzip", from: from}), nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax))
		if err != nil {
			return nil, from.fault("zstd", err)
		}
		return inUTF8(&unzipped{Reader: z, close: func() error { z.Close(); return nil }, name: "zstd", from: from}), nil
	}
	if kind := kindOf(b); kind != "" {
		return nil, &FileError{fmt.Sprintf("the file is %s and no table: want a CSV, a workbook (.xlsx) or NDJSON", kind)}
	}
	if head, _ := b.Peek(512); jsonArray.Match(head) {
		return nil, &FileError{"the file is one JSON array: want an object a line (NDJSON), without brackets and commas around them"}
	}
	return inUTF8(io.NopCloser(b)), nil
}

// jsonArray is the beginning of an array of objects. A part of a CSV may begin within a cell, where quotes are doubled.
var jsonArray = regexp.MustCompile(`^\s*\[\s*\{\s*"[^"]`)

// kindOf is the content type of a file that is no text, such as a picture; empty where it may be one.
func kindOf(b *bufio.Reader) string {
	head, _ := b.Peek(512) // as much as is looked at
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if strings.HasPrefix(kind, "text/") || kind == "application/octet-stream" { // the second is said of a text with one zero in it
		return ""
	}
	return kind
}

// Workbook reports whether a file with these first bytes is read as a workbook.
func Workbook(head []byte) bool { return bytes.HasPrefix(head, zipMagic) }

// Packed reports whether Open makes another text of a file with these first bytes, ToldBy where it has as many: a place in that text is none
// in the file.
func Packed(head []byte) bool {
	if _, is := unmarked(head); is {
		return true
	}
	for _, mark := range [][]byte{{0x1f, 0x8b}, {0x28, 0xb5, 0x2f, 0xfd}, zipMagic, {0xff, 0xfe}, {0xfe, 0xff}} {
		if bytes.HasPrefix(head, mark) {
			return true
		}
	}
	return false
}

// inUTF8 makes UTF-8 of UTF-16, which a mark at its beginning tells, or else the zeros in it; everything else stays as it is.
func inUTF8(in io.ReadCloser) io.ReadCloser {
	b := bufio.NewReaderSize(in, 64<<10)
	head, _ := b.Peek(ToldBy) // what cannot be read is told where it is read
	order := unicode.LittleEndian
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		order = unicode.BigEndian
	default:
		var is bool
		if order, is = unmarked(head); !is {
			return &closing{b, in}
		}
	}
	c := &converted{closing{unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(b), in}, UTF16LE}
	if order == unicode.BigEndian {
		c.from = UTF16BE
	}
	return c
}

// converted is a text of UTF-16 as UTF-8.
type converted struct {
	closing
	from Encoding
}

// The encodings that a file itself shows, and that are converted to UTF-8. A request cannot name them.
const (
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

// ToldBy is how many bytes tell a text of UTF-16 without a mark.
const ToldBy = 4096

// leastZeros is of how many bytes of UTF-16 one is a zero, at least: a line of ten Chinese characters has one in 22.
const leastZeros = 40

// unmarked tells UTF-16 without a mark: its line ends, commas and digits have a zero byte each, all on the same side. What is decoded must be
// a text.
func unmarked(head []byte) (order unicode.Endianness, is bool) {
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	if most := max(zeros[0], zeros[1]); most <= 2*min(zeros[0], zeros[1]) || most*leastZeros < len(head) { // a text of UTF-8 may have one by mistake
		return order, false
	}
	order = unicode.LittleEndian
	if zeros[0] > zeros[1] {
		order = unicode.BigEndian
	}
	text, err := unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Bytes(head[:len(head)/2*2])
	return order, err == nil && !bytes.ContainsFunc(bytes.TrimSuffix(text, []byte("\ufffd")), func(r rune) bool { // the last may be cut in two
		return r == '\ufffd' || r < ' ' && r != '\n' && r != '\r' && r != '\t'
	})
}

// closing is a reader that closes what it reads from.
type closing struct {
	io.Reader
	io.Closer
}

// source is a compressed file, and why it could not be read to its end.
type source struct {
	in   io.Reader
	size int64 // that was read
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.size += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// fault says of what cannot be decompressed that the file is wrong, and of what cannot be read, why.
func (s *source) fault(kind string, err error) error {
	switch {
	case s.err != nil:
		return s.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FileError{"the " + kind + " file ends before its end: it was cut off"}
	}
	return &FileError{fmt.Sprintf("the %s file cannot be read: %v", kind, err)}
}

// unzipped is what a compressed file holds.
type unzipped struct {
	io.Reader
	close func() error
	name  string
	from  *source
	size  int64 // that was read
}

func (u *unzipped) Close() error { return u.close() }

func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.size += int64(n); u.size > freely+mostTimes*u.from.size {
		return 0, &FileError{fmt.Sprintf("the %s file holds more than %d times its size: that is no list of people", u.name, mostTimes)}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = u.from.fault(u.name, err)
	}
	return n, err
}

// FileError is a fault of a whole file: nothing more can be read of it.
type FileError struct{ message string }

func (e *FileError) Error() string { return e.message }
