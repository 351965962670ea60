package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// The journal remembers what was sent for so long, and is written anew when it has so many more lines than
// it needs.
const (
	remembered = 7 * 24 * time.Hour
	spareLines = 20_000
)

// line is one line of the journal. It holds no content and no number.
type line struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	// Claim is the id of a claim that is not done with, empty for none.
	Claim    string                 `json:"claim_id,omitempty"`
	Key      string                 `json:"key,omitempty"`
	Delivery string                 `json:"delivery,omitempty"`
	Token    int64                  `json:"token,omitempty"`
	Report   *posthouse.AgentReport `json:"report,omitempty"`
	ReportID string                 `json:"report_id,omitempty"`
}

// The kinds of lines.
const (
	lineClaim = "claim" // a claim begins, or the last one is done with
	lineHold  = "hold"  // it was fetched, and no claim would find it again
	lineStart = "start" // the phone is about to be told
	lineEnd   = "end"   // what came of it
	lineTold  = "told"  // the server has answered the report
	lineDrop  = "drop"  // it is not ours any more, and was not sent
	lineSent  = "sent"  // it was sent, and the server knows; of a journal that was written anew
)

// entry is what the journal knows of a key.
type entry struct {
	line       // the last hold, start, end or sent
	sent  bool // by this app, at any time
	order int  // of the report
}

// journal is what the app must know after a crash. Its file may be none: then it knows until the app ends.
type journal struct {
	path  string
	file  *os.File
	lines int
	claim string
	known map[string]*entry
	// reports are those that the server was not told of, by id.
	reports map[string]*entry
	next    int
}

// errJournal ends an app: without its journal it would not know what it has sent.
var errJournal = errors.New("the journal cannot be written")

// openJournal reads a journal and makes reports of what a crash has cut off.
func openJournal(path string, now time.Time) (*journal, error) {
	j := &journal{path: path, known: map[string]*entry{}, reports: map[string]*entry{}}
	if path == "" {
		return j, nil
	}
	if err := j.read(); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	j.recover(now)
	if err := j.rewrite(now); err != nil {
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	return j, nil
}

func (j *journal) read() error {
	file, err := os.Open(j.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for number := 1; in.Scan(); number++ {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			if !in.Scan() { // the last line: the crash cut it, and nothing was done on its word
				break
			}
			return fmt.Errorf("%s, line %d: %w", j.path, number, err)
		}
		j.apply(l)
	}
	return in.Err()
}

// apply takes a line into what is known.
func (j *journal) apply(l line) {
	e := j.known[l.Key]
	if e == nil && l.Key != "" {
		e = &entry{}
		j.known[l.Key] = e
	}
	switch l.What {
	case lineClaim:
		j.claim = l.Claim
	case lineHold, lineStart:
		e.line = l
	case lineEnd:
		e.line = l
		e.sent = e.sent || l.Report.Outcome == posthouse.OutcomeSent
		j.next++
		j.reports[l.Report.ReportID] = &entry{line: l, order: j.next}
	case lineTold:
		delete(j.reports, l.ReportID)
	case lineSent:
		e.line, e.sent = l, true
	case lineDrop:
		if e.What = lineSent; !e.sent {
			delete(j.known, l.Key)
		}
	}
}

// recover makes reports of what was under way: nobody can tell whether it has left. What was fetched and not
// started was surely not sent.
func (j *journal) recover(now time.Time) {
	for key, e := range j.known {
		r := posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: e.Delivery, Token: e.Token}
		switch {
		case e.What == lineHold && e.sent:
			r.Outcome = posthouse.OutcomeSent
		case e.What == lineStart:
			r.Outcome, r.Code, r.Error = posthouse.OutcomeUnknown, "crashed", "the agent ended while it was sending this"
		case e.What == lineHold:
			r.Outcome, r.Code, r.Error = posthouse.OutcomeNotSent, "crashed", "the agent ended before it sent this"
		default:
			continue
		}
		j.apply(line{At: now, What: lineEnd, Key: key, Report: &r})
	}
}

// rewrite forgets what is old, puts a file with the rest in the journal's place, and goes on with that.
func (j *journal) rewrite(now time.Time) error {
	lines := j.needed(now)
	j.lines = len(lines)
	if j.path == "" {
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, l := range lines {
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	file, err := replace(j.path, text.Bytes())
	if err != nil {
		return err
	}
	_ = j.close() // what it held is in the new one
	j.file = file
	return nil
}

// replace puts a file in another's place, or leaves that as it is.
func replace(path string, text []byte) (file *os.File, err error) {
	file, err = os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		file.Close()
	}
	return file, err
}

// needed are the lines that say what is known. What is old is forgotten.
func (j *journal) needed(now time.Time) []line {
	lines := []line{{At: now, What: lineClaim, Claim: j.claim}}
	for key, e := range j.known {
		open := e.What == lineHold || e.What == lineStart
		if !open && (!e.sent || now.Sub(e.At) > remembered) {
			delete(j.known, key)
			continue
		}
		if e.sent {
			lines = append(lines, line{At: e.At, What: lineSent, Key: key})
		}
		if open {
			lines = append(lines, e.line)
		}
	}
	for _, e := range j.waiting() {
		lines = append(lines, e.line)
	}
	return lines
}

// write appends a line, on disk before it returns where it must be.
func (j *journal) write(l line, sync bool) error {
	l.At = time.Now().UTC()
	j.apply(l)
	err := j.put(l, sync)
	if j.lines++; err == nil && j.lines > spareLines+4*len(j.known) {
		err = j.rewrite(l.At)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	return nil
}

func (j *journal) put(l line, sync bool) error {
	if j.file == nil {
		return nil
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err == nil && sync {
		err = j.file.Sync()
	}
	return err
}

// claiming says that a claim begins, or with no id that the last one is done with.
func (j *journal) claiming(id string) error {
	if id == j.claim {
		return nil
	}
	return j.write(line{What: lineClaim, Claim: id}, false)
}

// holds remembers what no repeated claim would find.
func (j *journal) holds(got claimed) error {
	for _, t := range got.tasks {
		if !t.once {
			continue
		}
		if err := j.write(line{What: lineHold, Key: t.key, Delivery: t.delivery, Token: t.token}, false); err != nil {
			return err
		}
	}
	return nil
}

// starts is on disk before the phone is told.
func (j *journal) starts(t *task) error {
	return j.write(line{What: lineStart, Key: t.key, Delivery: t.delivery, Token: t.token}, true)
}

func (j *journal) ends(key string, r posthouse.AgentReport) error {
	return j.write(line{What: lineEnd, Key: key, Report: &r}, true)
}

func (j *journal) drops(t *task) error { return j.write(line{What: lineDrop, Key: t.key}, false) }

func (j *journal) toldOf(report string) error {
	return j.write(line{What: lineTold, ReportID: report}, false)
}

// wasSent reports whether this app has sent a key.
func (j *journal) wasSent(key string) bool {
	e := j.known[key]
	return e != nil && e.sent
}

// untold are the reports that the server has not answered, oldest first.
func (j *journal) untold() []posthouse.AgentReport {
	var out []posthouse.AgentReport
	for _, e := range j.waiting() {
		out = append(out, *e.Report)
	}
	return out
}

func (j *journal) waiting() []*entry {
	var list []*entry
	for _, e := range j.reports {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return a.order - b.order })
	return list
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}
