package schema

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// MarkFolder is where what was seen of a database is remembered: where a setting says, or else beside an SQLite file, or in
// the working directory.
func MarkFolder(given, dsn string) string {
	if path, ok := sqldb.SQLiteFile(dsn); ok {
		return cmp.Or(given, filepath.Dir(path))
	}
	return cmp.Or(given, ".")
}

// MarkFile is where a process remembers what it saw of a history.
func MarkFile(folder, history string) string {
	return filepath.Join(folder, "posthouse-"+history+".mark")
}

// Marks are the files of a folder in which processes remember what they saw.
func Marks(folder string) []string {
	found, err := filepath.Glob(MarkFile(folder, "*"))
	if err != nil {
		return nil // the folder's name reads as a pattern that is none
	}
	return found
}

// Remembered is what a process saw of a history; the zero time for nothing.
func Remembered(folder, history string) (time.Time, error) {
	text, err := os.ReadFile(MarkFile(folder, history))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return ParseMoment(strings.TrimSpace(string(text)))
}
