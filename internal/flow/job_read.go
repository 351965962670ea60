package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Reader reads the words of the document, and collects what is wrong with them by their fields.
type Reader struct {
	// Zone is that of times that name none. Required.
	Zone  *time.Location
	wrong draft.Problems
}

// Problems are what was wrong so far.
func (r *Reader) Problems() []posthouse.Problem { return r.wrong.List }

// Job reads a job. Whether it makes sense is for its Check.
func (r *Reader) Job(in wire.NewJob) Job {
	return Job{
		BizType: workflow.BizType(r.Code("bizType", in.BizType)), BizID: r.ID("bizId", in.BizID), Channel: r.Code("channel", in.Channel),
		Payload: in.Payload, Users: r.IDs("userIds", in.UserIDs), DedupKey: in.DedupKey, NextRunTime: r.Time("nextRunTime", in.NextRunTime),
		Operator: r.ID("operator", in.Operator), Number: r.number("number", in.Number),
	}
}

// Change reads which jobs are given which status.
func (r *Reader) Change(in wire.JobStatus) Change {
	c := r.Deletion(wire.JobDelete{BizType: in.BizType, BizIDs: in.BizIDs, Operator: in.Operator})
	c.Status = Status(r.Code("status", in.Status))
	for i := range in.Expected {
		c.Expected = append(c.Expected, Status(r.Code("expectedStatuses["+strconv.Itoa(i)+"]", &in.Expected[i])))
	}
	return c
}

// Deletion reads which jobs are deleted.
func (r *Reader) Deletion(in wire.JobDelete) Change {
	return Change{Type: workflow.BizType(r.Code("bizType", in.BizType)), IDs: r.IDs("bizIds", in.BizIDs), Operator: r.ID("operator", in.Operator)}
}

// number is a whole number of 63 bits, also one that is written as text.
func (r *Reader) number(path string, i *wire.Ident) *int64 {
	if i == nil {
		return nil
	}
	n, err := strconv.ParseInt(i.Text(), 10, 64)
	if err != nil {
		r.wrong.Add(path, "is %.60q: want a whole number of at most 19 digits", i.Text())
	}
	return &n
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// ID is the text of an id. A number is one as it is written; texts are taken as they are.
func (r *Reader) ID(path string, i wire.Ident) string {
	id := r.written(path, i)
	r.wrong.Word(path, id, maxText)
	return id
}

// written is the text of an id as it is written, however long.
func (r *Reader) written(path string, i wire.Ident) string {
	if number, marked := strings.CutPrefix(string(i), "\x00"); marked && !wholeNumber.MatchString(number) {
		r.wrong.Add(path, "is %.60s: want a whole number or a string", number)
		return ""
	}
	return i.Text()
}

// IDs are the texts of ids.
func (r *Reader) IDs(path string, list []wire.Ident) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = r.ID(path+"["+strconv.Itoa(i)+"]", list[i])
	}
	return out
}

// Code is a number of the document, also one that is written as text.
func (r *Reader) Code(path string, i *wire.Ident) int {
	if i == nil {
		r.wrong.Add(path, "is required")
		return 0
	}
	text := strings.TrimPrefix(string(*i), "\x00")
	n, err := strconv.Atoi(text)
	if err != nil {
		r.wrong.Add(path, "is %.60q: want a whole number", text)
	}
	return n
}

// Time reads a time with its zone, or one of the reader's zone without.
func (r *Reader) Time(path, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		t, err := time.ParseInLocation(layout, text, r.Zone)
		if err == nil && !posthouse.ValidTime(t) {
			r.wrong.Add(path, "is %.60q: want a time of the years %d to %d in UTC", text, posthouse.FirstYear, posthouse.LastYear)
			return time.Time{}
		}
		if err == nil {
			return t
		}
	}
	r.wrong.Add(path, "is %.60q: want a time such as 2025-08-02T13:15:00+08:00, or 2025-08-02 13:15:00 in the time zone %s", text, r.Zone)
	return time.Time{}
}

// ReadJob reads a job as the document's enqueue takes it, from JSON text: ids and codes as numbers or texts, and a time with
// its zone or in the one given. It names everything that is wrong.
func ReadJob(text []byte, zone *time.Location) (Job, []posthouse.Problem) {
	var in wire.NewJob
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields() // a misspelt field would silently change what is sent
	if err := dec.Decode(&in); err != nil {
		return Job{}, []posthouse.Problem{notAJob(err)}
	}
	if rest, _ := io.ReadAll(dec.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		return Job{}, []posthouse.Problem{{Path: "job", Message: "is followed by more text: want one JSON object"}}
	}
	r := Reader{Zone: zone}
	job := r.Job(in)
	if len(r.Problems()) > 0 {
		return job, r.Problems()
	}
	return job, job.Check()
}

// notAJob says in words why a text cannot be read as a job.
func notAJob(err error) posthouse.Problem {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return posthouse.Problem{Path: strings.TrimSuffix("job."+wrong.Field, "."), Message: "cannot be of the kind " + wrong.Value}
	}
	return posthouse.Problem{Path: "job", Message: strings.TrimPrefix(err.Error(), "json: ")}
}
