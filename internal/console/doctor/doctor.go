// Package doctor is the console's pages of the process that answers: the settings in force with where each was given, and what it finds
// unsafe or broken. What is looked at is not decided here.
package doctor

import (
	"cmp"
	"embed"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

//go:embed pages
var files embed.FS

// Pages are the pages of settings and findings.
func Pages() host.Pages {
	whole := func(method, path, action string, serve func(*host.Visit) error) host.Route {
		return host.Route{Method: method, Path: path, Use: web.Use{Scope: posthouse.ScopeAdmin, Action: action, Whole: true}, Serve: serve}
	}
	return host.Pages{
		Files: files, Words: texts(),
		Routes: []host.Route{
			whole(http.MethodGet, "settings", "settings.read", showSettings),
			whole(http.MethodGet, "doctor", "doctor.read", showFindings),
			whole(http.MethodPost, "doctor", "doctor.run", look),
		},
	}
}

// choice is one to narrow a list by.
type choice struct {
	Word, Link string
	N          int
	Current    bool
}

// settings is what the page of settings shows.
type settings struct {
	List    []setting
	Choices []choice
}

// setting is one in a list.
type setting struct{ wire.ServerSetting }

// Given reports whether somebody gave it.
func (s setting) Given() bool { return s.Source != wire.SettingByDefault }

// Flag and Variable are how else it is given.
func (s setting) Flag() string { return "--" + strings.ReplaceAll(s.Name, "_", "-") }

func showSettings(v *host.Visit) error {
	all, err := v.API.Examinations.Settings(v.Ctx())
	if err != nil {
		return err
	}
	var p settings
	chosen, counts := v.Query("source"), map[string]int{}
	for _, s := range all {
		counts[string(s.Source)]++
		if chosen == "" || chosen == string(s.Source) {
			p.List = append(p.List, setting{s})
		}
	}
	p.Choices = []choice{{Word: "setting_all", Link: v.At("settings"), N: len(all), Current: chosen == ""}}
	for _, from := range wire.SettingSources() {
		if n := counts[string(from)]; n > 0 {
			p.Choices = append(p.Choices, choice{"setting_by_" + string(from), v.At("settings") + "?source=" + string(from), n, chosen == string(from)})
		}
	}
	return v.Show("settings", "server_settings", p)
}

// findings is what the page of findings shows.
type findings struct {
	wire.Examination
	Bad, Fine []finding
}

// finding is one with what to do about it.
type finding struct {
	wire.Finding
	Kind string // of what was looked at, as a word says it
	Of   string // which one, empty for the only one
	Link string // where it can be put right, empty for none here
}

// kinds are what is looked at, each with the page on which it can be put right.
func kinds() map[string]string {
	return map[string]string{
		"database": "", "connections": "", "front door": "settings", "mail": "settings", "database settings": "", "standbys": "", "standby": "", "read replica": "", "failover": "", "galera": "", "place": "", "server": "", "split brain": "", "database clocks": "",
		"file": "", "schema": "", "clock": "", "keyring": "", "keyrings": "system", "restore": "", "views": "", "view": "", "partitions": "", "processes": "system", "process": "system",
		"fronts": "fronts", "front": "fronts", "channels": "channels", "channel": "channels", "keys": "", "key": "", "budgets": "channels", "budget": "channels", "quiet hours": "channels", "notifications": "notifications", "reminders": "reminders",
	}
}

// findingOf takes the name of what was looked at apart. A setting of the database is called as the database calls it.
func findingOf(v *host.Visit, f wire.Finding) finding {
	all := kinds()
	kind, of := f.Check, ""
	if _, known := all[kind]; !known {
		kind, of, _ = strings.Cut(f.Check, " ")
	}
	page, known := all[kind]
	if !known {
		kind, of = "other", f.Check
	}
	out := finding{Finding: f, Kind: "doctor_" + strings.ReplaceAll(kind, " ", "_"), Of: of}
	if page != "" {
		out.Link = v.At(page)
	}
	return out
}

// Do is the word of what to do about a finding that is not well.
func (f finding) Do() string {
	does := map[string]string{
		"database": "doctor_do_database", "front_door": "doctor_do_setting", "mail": "doctor_do_setting", "database_settings": "doctor_do_database", "other": "doctor_do_database_setting",
		"standbys": "doctor_do_standby", "standby": "doctor_do_standby", "read_replica": "doctor_do_standby", "failover": "doctor_do_standby", "galera": "doctor_do_standby", "place": "doctor_do_standby", "server": "doctor_do_standby", "split_brain": "doctor_do_standby",
		"clock": "doctor_do_clock", "database_clocks": "doctor_do_clock", "file": "doctor_do_file", "schema": "doctor_do_schema", "keyring": "doctor_do_keyring", "keyrings": "doctor_do_keyring", "key": "doctor_do_keyring", "keys": "doctor_do_keyring",
		"restore": "doctor_do_restore", "process": "doctor_do_process", "processes": "doctor_do_process", "front": "doctor_do_front", "fronts": "doctor_do_front", "channel": "doctor_do_channel", "channels": "doctor_do_channel", "quiet_hours": "doctor_do_channel", "notifications": "doctor_do_held", "reminders": "doctor_do_held",
	}
	return cmp.Or(does[strings.TrimPrefix(f.Kind, "doctor_")], "doctor_do_log")
}

func showFindings(v *host.Visit) error {
	last, err := v.API.Examinations.Last(v.Ctx())
	if err != nil {
		return err
	}
	p := findings{Examination: last}
	for _, f := range last.Findings {
		if one := findingOf(v, f); f.OK {
			p.Fine = append(p.Fine, one)
		} else {
			p.Bad = append(p.Bad, one)
		}
	}
	return v.Show("doctor", "doctor", p)
}

// look has the process look now, and leads to what it found.
func look(v *host.Visit) error {
	if _, err := v.API.Examinations.Run(v.Noted()); err != nil {
		return err
	}
	return v.GoTo(v.At("doctor"))
}
