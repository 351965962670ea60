package render

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Unit is how a provider counts the length of a text.
type Unit int

// The units. Graphemes are what a reader takes for one character: a family
// emoji is one grapheme of seven characters.
const (
	Bytes      Unit = iota // of UTF-8
	UTF16                  // units of UTF-16, as Java and JavaScript count
	Characters             // Unicode code points
	Graphemes              // as a reader counts
)

// Lengths is the length of one text in each unit.
type Lengths struct {
	Bytes      int `json:"bytes"`
	UTF16      int `json:"utf16"`
	Characters int `json:"characters"`
	Graphemes  int `json:"graphemes"`
}

// In is the length in one unit.
func (l Lengths) In(unit Unit) int {
	switch unit {
	case Bytes:
		return l.Bytes
	case UTF16:
		return l.UTF16
	case Characters:
		return l.Characters
	}
	return l.Graphemes
}

// Length measures a text.
func Length(s string) Lengths {
	return Lengths{
		Bytes:      len(s),
		UTF16:      utf16Length(s),
		Characters: utf8.RuneCountInString(s),
		Graphemes:  uniseg.GraphemeClusterCount(s),
	}
}

// Cut is the longest beginning of s that is at most limit units long and ends
// between two graphemes: no emoji, accent or surrogate pair is ever split.
func Cut(s string, limit int, unit Unit) string {
	if len(s) <= limit { // no unit counts more than the bytes
		return s
	}
	rest, state, used := s, -1, 0
	for rest != "" {
		cluster, after, _, next := uniseg.FirstGraphemeClusterInString(rest, state)
		used += clusterLength(cluster, unit)
		if used > limit {
			break
		}
		rest, state = after, next
	}
	return s[:len(s)-len(rest)]
}

func clusterLength(cluster string, unit Unit) int {
	switch unit {
	case Bytes:
		return len(cluster)
	case UTF16:
		return utf16Length(cluster)
	case Characters:
		return utf8.RuneCountInString(cluster)
	}
	return 1
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
