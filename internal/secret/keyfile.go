package secret

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxKeyFile bounds what Load reads: some thousand keys.
const maxKeyFile = 256 << 10

// Load reads a keyring from a file: a key a line, the newest last, each an id, a
// space and 32 bytes in base64. Empty lines and lines that begin with # are
// left out. A file that others than its owner may read or write is refused.
func Load(path string) (*Keyring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the key file: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	r, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return r, nil
}

// private refuses a file that is not the owner's alone.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at the key file: %w", err)
	}
	path, mode := f.Name(), info.Mode()
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("the key file %s is not a regular file", path)
	case info.Size() > maxKeyFile:
		return fmt.Errorf("the key file %s has %d bytes; the most is %d", path, info.Size(), maxKeyFile)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0: // Windows has no such bits
		return fmt.Errorf("the key file %s has mode %04o, so others may read it: run chmod 600 %s", path, mode.Perm(), path)
	}
	return nil
}

// Create writes a key file with one new key, mode 0600, and answers its
// keyring. The file appears whole and synced or not at all; one that is there
// already stays, and the error is then fs.ErrExist.
func Create(path string) (*Keyring, error) {
	key := GenerateKey()
	if err := write(path, "# Posthouse encrypts stored secrets with these keys. Keep a copy in a safe place.\n"+key.line()+"\n"); err != nil {
		return nil, fmt.Errorf("create the key file: %w", err)
	}
	return New(key)
}

// write makes a file that is complete when its name appears.
func write(path, text string) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".keys-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike Rename, never replaces a file
		return err
	}
	if runtime.GOOS == "windows" { // which has no sync of a folder, and refuses one
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Parse reads a keyring from text, such as an environment variable: keys as in a
// key file, separated by new lines or commas; a colon may stand for the space
// between an id and its secret. Errors name the line, never the secret.
func Parse(text string) (*Keyring, error) {
	var keys []Key
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for entry := range strings.SplitSeq(line, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			key, err := parseKey(entry)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New(`there is no key: write "id base64", 32 bytes in base64`)
	}
	return New(keys...)
}

func parseKey(line string) (Key, error) {
	at := strings.IndexAny(line, " \t:")
	if at < 0 {
		return Key{}, errors.New(`a key is written "id base64"`)
	}
	encoded := strings.TrimRight(strings.TrimSpace(line[at+1:]), "=")
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return Key{}, errors.New("the secret is not base64")
	}
	if len(raw) != keySize {
		return Key{}, fmt.Errorf("the secret has %d bytes; it must have %d", len(raw), keySize)
	}
	if bytes.Equal(raw, make([]byte, keySize)) {
		return Key{}, errors.New("the secret is all zeros; make one at random")
	}
	return Key{ID: line[:at], Secret: [keySize]byte(raw)}, nil
}
