package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// maxSecret bounds the file of a secret, in bytes: a DSN or a list of databases is far shorter.
const maxSecret = 64 << 10

// inFile is the variable that names a file with a secret in it, as orchestrators hand them out; empty where the setting is no
// secret, or where that variable is a setting of its own.
func (s setting[T]) inFile() string {
	name := s.variable() + "_FILE"
	if !s.secret || slices.ContainsFunc(serverSettings, func(other setting[Config]) bool { return other.variable() == name }) {
		return ""
	}
	return name
}

// readSecrets adds to a layer of variables the secrets that stand in files.
func readSecrets[T any](table []setting[T], into layer, variables map[string]string, at string) (problems []posthouse.Problem) {
	for _, s := range table {
		name := s.inFile()
		path := variables[name]
		if name == "" || path == "" {
			continue
		}
		if other, twice := into[s.name]; twice {
			problems = append(problems, posthouse.Problem{Path: at + name, Message: other.at + " is set too: give one of them"})
			continue
		}
		secret, err := readSecret(path)
		if err != nil {
			problems = append(problems, posthouse.Problem{Path: at + name, Message: err.Error()})
			continue
		}
		into[s.name] = given{secret, at + name}
	}
	return problems
}

// readSecret reads a file without the line break that editors end it with.
func readSecret(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return "", fmt.Errorf("the file cannot be read; %s", unreadable(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the file cannot be read; %s", unreadable(err))
	case len(text) > maxSecret:
		return "", fmt.Errorf("the file %s has more than %d bytes: that is no secret", path, maxSecret)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("the file %s is empty", path)
	}
	return secret, nil
}
