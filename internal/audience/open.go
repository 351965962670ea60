package audience

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// windowMax bounds the memory that a compressed file may ask for.
const windowMax = 8 << 20

// Open reads a file that may be compressed by gzip or zstd, which its first bytes tell. Close frees what that takes, and leaves in open.
func Open(in io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(in, 64<<10)
	head, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, &FileError{fmt.Sprintf("the gzip file cannot be read: %v", err)}
		}
		return unzipped{z, z.Close, "gzip"}, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax))
		if err != nil {
			return nil, &FileError{fmt.Sprintf("the zstd file cannot be read: %v", err)}
		}
		return unzipped{z, func() error { z.Close(); return nil }, "zstd"}, nil
	}
	return io.NopCloser(b), nil
}

// unzipped says of what cannot be decompressed that the file is wrong, and of what cannot be read, why.
type unzipped struct {
	io.Reader
	close func() error
	name  string
}

func (u unzipped) Close() error { return u.close() }

func (u unzipped) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = &FileError{"the " + u.name + " file ends before its end: it was cut off"}
	} else if corrupt(err) {
		err = &FileError{fmt.Sprintf("the %s file cannot be read: %v", u.name, err)}
	}
	return n, err
}

func corrupt(err error) bool {
	for _, known := range []error{gzip.ErrChecksum, gzip.ErrHeader, zstd.ErrMagicMismatch, zstd.ErrCRCMismatch, zstd.ErrWindowSizeExceeded, zstd.ErrDecoderSizeExceeded} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// FileError is a fault of a whole file: nothing more can be read of it.
type FileError struct{ message string }

func (e *FileError) Error() string { return e.message }
