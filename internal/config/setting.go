package config

import (
	"strings"
)

// setting is one line of a table: a value that flag, variable and YAML key name alike, and
// where it goes in a T.
type setting[T any] struct {
	// name is the YAML key, such as time_zone. The flag is --time-zone, the variable
	// POSTHOUSE_TIME_ZONE.
	name string
	// env is the variable where it is not the one that the name makes.
	env string
	// also are variables of other programs that say the same, looked at after our own.
	also []string
	// minutes is a variable of another program that says the same as a number of minutes.
	minutes string
	// def is the default as the help shows it; the zero value of T stands for it.
	def string
	// help says what the setting does. `BACKQUOTES` hold the placeholder of its value.
	help string
	// secret keeps the value out of messages.
	secret bool
	// noFlag keeps it off the command line, where every user of the machine can read it.
	noFlag bool
	// toggle is a flag that needs no value.
	toggle bool
	// parse reads a text that is not empty into the T.
	parse func(*T, string) error
}

const prefix = "POSTHOUSE_"

func (s setting[T]) flag() string { return strings.ReplaceAll(s.name, "_", "-") }

func (s setting[T]) variable() string {
	if s.env != "" {
		return s.env
	}
	return prefix + strings.ToUpper(s.name)
}

// variables are all that name the setting, the first of them counts.
func (s setting[T]) variables() []string {
	all := append([]string{s.variable()}, s.also...)
	if s.minutes != "" {
		all = append(all, s.minutes)
	}
	return all
}
