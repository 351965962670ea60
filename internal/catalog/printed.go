package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Printed is a format with its values in Chinese, as it is where the format is not known. What stands before and behind a format's words, such as
// a line's indent, its arrow and its end, is kept.
func Printed(format string, args ...any) string {
	text := body(format)
	p, known := printedBy()[text]
	if !known {
		return fmt.Sprintf(format, args...)
	}
	head, tail, _ := strings.Cut(format, text)
	return head + p.fill(values(text, args)) + tail
}

// IsPrinted reports whether the Chinese of a format is known.
func IsPrinted(format string) bool { return printedBy()[body(format)] != nil }

// body is a format without what stands around its words.
func body(format string) string {
	return strings.TrimRight(strings.TrimLeft(strings.ReplaceAll(format, "\r\x1b[K", ""), " \n\r→"), " \n")
}

// values are the values of a format as its verbs write them.
func values(format string, args []any) (list []string) {
	for _, at := range verb.FindAllString(format, -1) {
		if at == "%%" || len(list) == len(args) {
			continue
		}
		list = append(list, fmt.Sprintf(at, args[len(list)]))
	}
	return list
}

// printedBy are the formats that are known.
var printedBy = sync.OnceValue(func() map[string]*pattern {
	out := map[string]*pattern{}
	for _, s := range slices.Concat(Sentences(), Verdicts(), printedList()) {
		p := patternOf(s)
		out[s.English] = &p
	}
	return out
})

// Label is the head of a column or the name of a value in Chinese, as it is where it is not known. A name may have one of somebody's behind it, as
// in "parameter thing1".
func Label(name string) string {
	said, _ := labelOf(name)
	return said
}

// IsLabel reports whether the Chinese of a name is known.
func IsLabel(name string) bool {
	_, known := labelOf(name)
	return known
}

func labelOf(name string) (string, bool) {
	for _, key := range []string{name, strings.ToLower(name)} { // a head begins with a capital
		if said, known := labelled()[key]; known {
			return said, true
		}
	}
	if kind, of, ok := strings.Cut(name, " "); ok {
		if said, known := labelled()[kind+" %s"]; known {
			return said + of, true
		}
	}
	return name, false
}

// labelled are the names that are known.
var labelled = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, s := range labels() {
		out[s.English] = s.Chinese
	}
	return out
})
