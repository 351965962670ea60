package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Program is the path of a program that tests drive, such as prometheus-alertmanager; the package that brings it has the same name. A test
// ends where it is missing, as it does where a server is.
func Program(t testing.TB, name string) string {
	t.Helper()
	found := lookIn([]string{name}, searchPath())
	if found[name] == "" {
		require(t, &MissingError{Kind: Kind(name), Program: name, Install: name + " (apt)"})
	}
	return found[name]
}

// MissingError says that a server is not installed, and what to install.
type MissingError struct {
	Kind    Kind
	Program string // the first one that was not found
	Install string // the packages that bring it
}

// Error says it in a sentence for people.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed, program %s was not found: install %s, or run make test, which does it",
		e.Kind, e.Program, e.Install)
}

// ownPostgres is the variable of the environment with the folder of PostgreSQL's programs, for another version than the installed one.
const ownPostgres = "DBTEST_POSTGRES"

// find returns the path of each program a recipe needs. The folders of a recipe
// go first, the highest version leading, so that all programs are of one version.
func find(kind Kind, r recipe) (map[string]string, error) {
	folders := r.versions()
	if own := os.Getenv(ownPostgres); own != "" && kind == KindPostgres {
		folders = []string{own}
	}
	for _, folder := range folders {
		if found := lookIn(r.programs, []string{folder}); len(found) == len(r.programs) {
			return found, nil
		}
	}
	found := lookIn(r.programs, searchPath())
	for _, name := range r.programs {
		if found[name] == "" {
			return nil, &MissingError{Kind: kind, Program: name, Install: r.install}
		}
	}
	return found, nil
}

// versions lists the recipe's folders that exist.
func (r recipe) versions() []string {
	var folders []string
	for _, pattern := range r.folders {
		matches, _ := filepath.Glob(pattern)
		slices.Sort(matches)
		slices.Reverse(matches)
		folders = append(folders, matches...)
	}
	return folders
}

// searchPath is PATH, and where servers are that an ordinary user's PATH leaves out.
func searchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")),
		"/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin", "/opt/homebrew/sbin")
}

func lookIn(programs, folders []string) map[string]string {
	found := make(map[string]string)
	for _, name := range programs {
		for _, folder := range folders {
			path, err := exec.LookPath(filepath.Join(folder, name))
			if err == nil && strings.HasPrefix(path, "/") {
				found[name] = path
				break
			}
		}
	}
	return found
}

// MariaDBTool is the path of a program that comes with MariaDB, such as mariadb-dump.
func MariaDBTool(name string) (string, error) {
	found, err := find(KindMariaDB, recipe{programs: []string{name}, install: "mariadb-client (apt) or mariadb (Homebrew)"})
	return found[name], err
}

// PostgresTool is the path of a program that comes with PostgreSQL, such as pg_dump.
func PostgresTool(name string) (string, error) {
	with := postgresRecipe
	with.programs = []string{name}
	found, err := find(KindPostgres, with)
	return found[name], err
}
