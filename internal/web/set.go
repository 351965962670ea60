package web

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"

	"github.com/posthouse/posthouse/internal/draft"
)

// settled is what a pointer points to, made where there is nothing yet; of a map or a list one that is empty and there.
func settled(into reflect.Value) reflect.Value {
	for into.Kind() == reflect.Pointer {
		if into.IsNil() {
			into.Set(reflect.New(into.Type().Elem()))
		}
		into = into.Elem()
	}
	switch into.Kind() {
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
	case reflect.Slice:
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	}
	return into
}

// next is a list's next element.
func next(list reflect.Value) reflect.Value {
	if !list.IsValid() {
		return list
	}
	n := list.Len()
	list.Grow(1)
	list.SetLen(n + 1)
	return list.Index(n)
}

// oddOf is what is wrong with a string, given with its quotes: only an escape can mean what no database keeps.
func oddOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return ""
	}
	return draft.UnkeptJSON(quoted)
}

// textAt sets a string, given with its quotes.
func (w *walker) textAt(s *Shape, into reflect.Value, from int, quoted []byte) {
	if odd := oddOf(quoted); odd != "" && !s.mended {
		w.refuse(from, "%s", odd)
		return
	}
	if s.form != formParsed {
		if w.expect(s, from, formText, "a string") && into.IsValid() {
			settled(into).SetString(string(unquoted(quoted)))
		}
		return
	}
	text := unquoted(quoted)
	if len(text) > 100 {
		w.refuse(from, "has %d bytes: want %s", len(text), s.want)
	} else if v, err := s.parse(text); errors.Is(err, errYear) {
		w.refuse(from, "is %q: %s", text, err)
	} else if err != nil {
		w.refuse(from, "is %q: want %s", text, s.want)
	} else if into.IsValid() {
		settled(into).Set(v)
	}
}

func (w *walker) truth(s *Shape, into reflect.Value, from int, yes bool) error {
	if err := w.literal(strconv.FormatBool(yes)); err != nil {
		return err
	}
	if w.expect(s, from, formBool, "true or false") && into.IsValid() {
		settled(into).SetBool(yes)
	}
	return nil
}

func (w *walker) numberAt(s *Shape, into reflect.Value, from int) {
	text := string(w.text[from:w.at])
	switch s.form {
	case formAny:
	case formInteger:
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || into.IsValid() && !setWhole(settled(into), n) {
			w.refuse(from, "is %.40s: want a whole number", text)
		}
	case formNumber:
		if f, err := strconv.ParseFloat(text, 64); err != nil {
			w.refuse(from, "is %.40s, which is out of range", text)
		} else if into.IsValid() {
			settled(into).SetFloat(f)
		}
	default:
		w.refuse(from, "is a number: want %s", s.want)
	}
}

// setWhole reports whether the number fits.
func setWhole(into reflect.Value, n int64) bool {
	if into.CanInt() {
		fits := !into.OverflowInt(n)
		if fits {
			into.SetInt(n)
		}
		return fits
	}
	fits := n >= 0 && !into.OverflowUint(uint64(n))
	if fits {
		into.SetUint(uint64(n))
	}
	return fits
}
