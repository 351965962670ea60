package config

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/joho/godotenv"

	"github.com/posthouse/posthouse"
)

// dotenv is the file of variables, empty where there is none.
type dotenv struct {
	variables map[string]string
	at        string // what stands before a variable's name in messages
}

// readDotenv reads the file that --env-file names, or .env where there is one. Editors of Windows begin it with
// a byte order mark. An empty --env-file reads none.
func readDotenv(from Sources) (dotenv, []posthouse.Problem) {
	asked, given := flagText(from.Flags, "env-file")
	if asked == "" && (given || from.clientOnly) {
		return dotenv{}, nil
	}
	name := cmp.Or(asked, ".env")
	refuse := func(err error) (dotenv, []posthouse.Problem) {
		return dotenv{}, []posthouse.Problem{{Path: name, Message: "it cannot be read; " + unreadable(err)}}
	}
	path := name
	if asked == "" {
		path = filepath.Join(from.Dir, name)
	}
	text, err := os.ReadFile(path)
	switch {
	case asked == "" && os.IsNotExist(err):
		return dotenv{}, nil
	case err != nil:
		return refuse(err)
	}
	variables, err := godotenv.UnmarshalBytes(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil { // godotenv quotes the line, which can hold a secret
		return refuse(err)
	}
	return dotenv{variables, name + ": "}, nil
}

func unreadable(err error) string {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		return wrong.Err.Error()
	}
	return "each line must be NAME=value, a comment after #, or empty"
}
