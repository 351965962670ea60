package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// postgresNames are the variables that other programs name a PostgreSQL database by, part by part.
var postgresNames = []string{"POSTGRES_HOST", "POSTGRES_SERVER", "POSTGRES_PORT", "POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD"}

// postgresLayer makes a DSN of POSTGRES_HOST and its neighbours where nothing else names a database. A host or a
// database's name must be there: a password alone is a database server's own setting.
func postgresLayer(layers []layer, environ map[string]string, file dotenv) layer {
	if _, _, named := first(layers, "dsn"); named {
		return nil
	}
	at := ""
	value := func(names ...string) string {
		for _, name := range names {
			if v := cmp.Or(environ[name], file.variables[name]); v != "" {
				at = cmp.Or(at, name)
				return v
			}
		}
		return ""
	}
	host, db := value("POSTGRES_HOST", "POSTGRES_SERVER"), value("POSTGRES_DB")
	if host == "" && db == "" {
		return nil
	}
	user := cmp.Or(value("POSTGRES_USER"), "postgres")
	u := url.URL{
		Scheme: "postgres", User: url.User(user), Path: "/" + cmp.Or(db, user),
		Host: net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(value("POSTGRES_PORT"), "5432")),
	}
	if password := value("POSTGRES_PASSWORD"); password != "" {
		u.User = url.UserPassword(user, password)
	}
	return layer{"dsn": {u.String(), at}}
}

// inMinutes reads a variable of another program that counts minutes.
func inMinutes(v string) string {
	if _, err := strconv.Atoi(v); err == nil {
		return v + "m"
	}
	return v
}

// unknown warns of variables that look like ours and are not.
func unknown(variables map[string]string, at string) []string {
	known := slices.DeleteFunc(knownVariables(), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	var out []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		ours := strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, prefix+"TEST_")
		if ours && !slices.Contains(known, name) {
			out = append(out, fmt.Sprintf("%s%s: %s", at, name, channel.UnknownName("variable", name, known)))
		}
	}
	return out
}

// elsewhere are variables by which other programs are told of a database or a cache: in an environment they are the
// ones that somebody may expect us to read.
var elsewhere = []string{
	"DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASSWORD", "DATABASE_HOST", "DATABASE_NAME",
	"MYSQL_HOST", "MYSQL_PORT", "MYSQL_DATABASE", "MYSQL_USER", "MYSQL_PASSWORD", "REDIS_URL", "REDIS_HOST",
}

// foreign names, without their values, the settings of another program that are not read: all of a file, and of the
// environment those of a database.
func foreign(environ map[string]string, file dotenv, postgres bool) []string {
	known := knownVariables()
	if postgres {
		known = append(known, postgresNames...)
	}
	var out []string
	tell := func(at string, names []string) {
		if names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) }); len(names) > 0 {
			out = append(out, fmt.Sprintf("%ssettings of another program are not read: %s", at, strings.Join(names, ", ")))
		}
	}
	var there []string
	for _, name := range slices.Concat(elsewhere, postgresNames) {
		if environ[name] != "" {
			there = append(there, name)
		}
	}
	tell("", there)
	tell(file.at, slices.DeleteFunc(slices.Sorted(maps.Keys(file.variables)), func(name string) bool {
		return strings.HasPrefix(name, prefix) // told of by unknown
	}))
	return out
}

// knownVariables are all that name a setting, ours and those of other programs.
func knownVariables() []string {
	known := []string{prefix + "CONFIG"}
	for _, s := range serverSettings {
		known = append(known, append(s.variables(), s.inFile())...)
	}
	for _, s := range clientSettings {
		known = append(known, append(s.variables(), s.inFile())...)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == "" })
	slices.Sort(known)
	return slices.Compact(known) // client and server share the key's
}
