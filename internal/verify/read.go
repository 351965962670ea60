package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/posthouse/posthouse"
)

// ReadEvents reads an event log of one JSON object a line. Name says in errors which file it is.
func ReadEvents(name string, r io.Reader) iter.Seq2[posthouse.Event, error] {
	return func(yield func(posthouse.Event, error) bool) {
		dec := json.NewDecoder(r)
		dec.DisallowUnknownFields()
		for line := 1; ; line++ {
			var e posthouse.Event
			err := dec.Decode(&e)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(e, fmt.Errorf("%s: line %d: %w", name, line, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
