// Package limittext reads and writes limits as people type them: 20/1s, 1000/1m. It is not what a limit does: that is internal/limit.
package limittext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/posthouse/posthouse"
)

// One reads a limit as its String writes it. The error says what is wanted; whether the numbers make sense it does not say.
func One(text string) (l posthouse.Limit, err error) {
	most, rest, _ := strings.Cut(text, "/")
	per, rest, _ := strings.Cut(rest, "/")
	if l.Max, err = strconv.Atoi(most); err == nil {
		err = l.Per.UnmarshalText([]byte(per))
	}
	for rest != "" && err == nil {
		var option string
		option, rest, _ = strings.Cut(rest, "/")
		err = readOption(&l, option)
	}
	if err != nil {
		return posthouse.Limit{}, fmt.Errorf("%.40q is not a limit such as 20/1s, 1000/1m or 20/1s/burst=5/jitter=80ms", text)
	}
	return l, nil
}

// readOption reads burst=5 or jitter=80ms.
func readOption(l *posthouse.Limit, text string) (err error) {
	switch name, value, _ := strings.Cut(text, "="); name {
	case "burst":
		l.Burst, err = strconv.Atoi(value)
	case "jitter":
		l.Jitter = new(posthouse.Duration)
		err = l.Jitter.UnmarshalText([]byte(value))
	default:
		err = errors.New("unknown")
	}
	return err
}

// unlimited says in a text that there is no limit: an empty list.
const unlimited = "unlimited"

// Read reads limits with commas, semicolons or spaces between them. An empty text says nothing: nil.
func Read(text string) ([]posthouse.Limit, error) {
	parts := partsOf(text)
	if len(parts) == 0 {
		return nil, nil
	}
	list := []posthouse.Limit{}
	for _, part := range parts {
		if part == unlimited && len(parts) == 1 {
			return list, nil
		}
		l, err := One(part)
		if err != nil {
			return nil, fmt.Errorf("%w, or %s alone", err, unlimited)
		}
		list = append(list, l)
	}
	return list, nil
}

// Wrong is the line, from 1 on, of the first limit of a text that Read does not take: one that is none, or unlimited beside others.
func Wrong(text string) (line int) {
	for one := range strings.Lines(text) {
		line++
		for _, part := range partsOf(one) {
			if _, err := One(part); err != nil {
				return line
			}
		}
	}
	return 0
}

func partsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
}

// Text is what Read reads, with a text between the limits.
func Text(list []posthouse.Limit, between string) string {
	if list != nil && len(list) == 0 {
		return unlimited
	}
	parts := make([]string, len(list))
	for i, l := range list {
		parts[i] = l.String()
	}
	return strings.Join(parts, between)
}
