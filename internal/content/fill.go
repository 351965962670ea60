package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/render"
)

// Fill is what a message with a template reads like at a moment, and the payload that the template is then
// filled with: with the fields of a clock, and with the platform's address where it has none. Problems name
// the payload's missing fields, or the template where it cannot be read. The zero moment is now.
func (c *Contents) Fill(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock, at time.Time) (posthouse.Content, json.RawMessage, []posthouse.Problem) {
	payload, err := withPlatform(payload, c.PlatformURL)
	if err != nil {
		return posthouse.Content{}, payload, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	return fillAt(t, payload, clock, cmp.Or(at, c.Now()))
}

// Stored is Fill for a message that is accepted. The payload that it returns is without the fields of the clock: each
// attempt counts them anew.
func (c *Contents) Stored(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock, at time.Time) (posthouse.Content, json.RawMessage, []posthouse.Problem) {
	payload, err := withPlatform(payload, c.PlatformURL)
	if err != nil {
		return posthouse.Content{}, payload, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	content, _, problems := fillAt(t, payload, clock, at)
	return content, payload, problems
}

func fillAt(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock, at time.Time) (posthouse.Content, json.RawMessage, []posthouse.Problem) {
	if clock != nil {
		counted, err := countOn(payload, *clock, at)
		if err != nil {
			return posthouse.Content{}, payload, []posthouse.Problem{{Path: "payload", Message: err.Error()}}
		}
		payload = counted
	}
	content, problems := Render(t, payload)
	return content, payload, problems
}

// The fields that a clock makes.
const (
	fieldLeft     = "remainMin"
	fieldOver     = "overtime"
	fieldMax      = "maxDuration"
	fieldOriginal = "originalMaxDuration"
)

// countOn is a payload with the fields of a clock as of a moment.
func countOn(payload json.RawMessage, clock posthouse.Clock, at time.Time) (json.RawMessage, error) {
	fields, err := render.Fields(payload)
	if err != nil {
		return nil, err
	}
	if !clock.Until.IsZero() {
		fields[fieldLeft] = minutes(clock.Until.Sub(at) + time.Minute - 1) // a minute that has begun counts
	}
	if !clock.Since.IsZero() {
		over := minutes(at.Sub(clock.Since))
		if most, ok := fields[fieldMax]; ok {
			fields[fieldOriginal], fields[fieldMax] = most, over
		}
		fields[fieldOver] = over
	}
	return render.Object(fields)
}

// minutes are the whole ones of d, 0 for less.
func minutes(d time.Duration) json.RawMessage {
	return strconv.AppendInt(nil, int64(max(d, 0)/time.Minute), 10)
}

// FieldPlatform is the payload's field that the platform's address is put into.
const FieldPlatform = "platformUrl"

// withPlatform is a payload with the platform's address, where it has none of its own.
func withPlatform(payload json.RawMessage, address string) (json.RawMessage, error) {
	if address == "" {
		return payload, nil
	}
	fields, err := render.Fields(payload)
	if err != nil {
		return nil, err
	}
	if _, own := fields[FieldPlatform]; own {
		return payload, nil
	}
	if fields[FieldPlatform], err = json.Marshal(address); err != nil {
		return nil, fmt.Errorf("the platform's address cannot be written: %w", err)
	}
	return render.Object(fields)
}
