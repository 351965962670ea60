package verify_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

func readAll(r io.Reader) (list []posthouse.Event, err error) {
	for e, err := range verify.ReadEvents("events.jsonl", r) {
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	return list, nil
}

func TestReadEventsReadsWhatJSONWrites(t *testing.T) {
	t.Parallel()
	full := posthouse.Event{
		Delivery: posthouse.DeliveryID(posthouse.NewID(), 1), Version: 3, Tenant: "bank", At: began.Add(123456 * time.Microsecond),
		Type: posthouse.EventRetry, From: posthouse.Sending, To: posthouse.Pending, Token: 7, Attempt: 2, Owner: "vm-1-a",
		LeaseUntil: began, Due: began.Add(time.Hour), Reason: "transient", Epoch: 2, Account: "main", Tries: 4, Class: posthouse.ClassTransient,
		Code: "HTTP_502", Error: "line one\nline \"two\" \\ 王芳 \u2028", Ref: "r", Request: "POST /\x00\x1f", Response: strings.Repeat("é", 3000),
		Message: posthouse.NewID(), Idem: "k", Deadline: began, Policy: posthouse.Query,
	}
	want := append(madeRun(3, 100).events, full, full)
	var plain, escaped bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	for i := range want {
		if err := errors.Join(encoder.Encode(&want[i]), json.NewEncoder(&escaped).Encode(&want[i])); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{"as it is": &plain, "with escapes": &escaped, "compressed": &packed} {
		got, err := readAll(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: events (-wrote +read):\n%s", name, diff)
		}
	}
}

func TestReadEventsNamesTheFileTheLineAndTheField(t *testing.T) {
	t.Parallel()
	const good = `{"delivery":"01KMJ000000000000000AB0001","version":1,"tenant":"bank","db_ts":"2026-03-01T08:00:00Z","type":"accept","to":"pending","token":0,"epoch":1}`
	for name, c := range map[string]struct{ line, want string }{
		"not JSON":           {`hello`, "it is not a JSON object"},
		"a list":             {`[]`, "it is not a JSON object"},
		"cut short":          {good[:60], "the line ends in the middle"},
		"cut in a string":    {good[:20], "the line ends in the middle"},
		"unknown field":      {strings.Replace(good, `"token"`, `"tokens"`, 1), "tokens: there is no such field"},
		"wrong type":         {strings.Replace(good, `"version":1`, `"version":"1"`, 1), `version: there is '"' at character`},
		"a fraction":         {strings.Replace(good, `"version":1`, `"version":1.5`, 1), "version: 1.5 is not a whole number"},
		"an exponent":        {strings.Replace(good, `"version":1`, `"version":1e3`, 1), "version: 1e3 is not a whole number"},
		"a leading zero":     {strings.Replace(good, `"version":1`, `"version":01`, 1), "version: 01 is not a whole number"},
		"too large":          {strings.Replace(good, `"version":1`, `"version":99999999999999999999`, 1), "version: 99999999999999999999 is too large"},
		"a negative count":   {strings.Replace(good, `"token":0`, `"token":0,"attempt":-1`, 1), "attempt: -1 is not from 0"},
		"no number":          {strings.Replace(good, `"version":1`, `"version":null`, 1), "version: there is 'n' at character"},
		"a bad time":         {strings.Replace(good, `08:00:00Z`, `08:00`, 1), `db_ts: "2026-03-01T08:00" is not a time`},
		"a bad escape":       {strings.Replace(good, `bank`, `ba\qnk`, 1), "tenant: "},
		"a control byte":     {strings.Replace(good, `bank`, "ba\x01nk", 1), "tenant: "},
		"no id":              {strings.Replace(good, `01KMJ000000000000000AB0001`, `7`, 1), `delivery: "7" is not an id`},
		"a missing field":    {strings.Replace(good, `"tenant":"bank",`, ``, 1), "tenant: it is missing"},
		"something after it": {good + `{}`, "something stands after the object"},
		"no comma":           {strings.Replace(good, `1,"tenant"`, `1 "tenant"`, 1), "where a comma or the object's end is due"},
		"given twice":        {strings.Replace(good, `"token":0`, `"token":7,"token":0`, 1), "token: it is given twice"},
		"before 1970":        {strings.Replace(good, `2026-`, `1960-`, 1), "db_ts: 1960-03-01T08:00:00Z is before 1970 or after 9999"},
		"of the year 1":      {strings.Replace(good, `2026-03-01T08`, `0001-01-01T00`, 1), "db_ts: 0001-01-01T00:00:00Z is before 1970"},
		"beyond 9999":        {strings.Replace(good, `"token"`, `"due":"9999-12-31T23:59:59-01:00","token"`, 1), "due: 9999-12-31T23:59:59-01:00 is before 1970 or after 9999"},
		"not sorted":         {strings.Replace(good, `AB0001`, `AA0001`, 1), "delivery: 01KMJ000000000000000AA0001 comes after 01KMJ000000000000000AB0001; the log must be sorted"},
		"no colon":           {strings.Replace(good, `"version":1`, `"version" 1`, 1), "where a colon is due"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readAll(strings.NewReader(good + "\n\n" + c.line + "\n"))
			if err == nil || !strings.HasPrefix(err.Error(), "events.jsonl: line 3: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one of events.jsonl, line 3, with %q", err, c.want)
			}
		})
	}
}

func TestReadEventsEndsWithItsReader(t *testing.T) {
	t.Parallel()
	if _, err := readAll(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got error %v, want that of the reader", err)
	}
	if got, err := readAll(strings.NewReader("")); len(got) != 0 || err != nil {
		t.Errorf("got %v and error %v of nothing, want nothing", got, err)
	}
	if _, err := readAll(strings.NewReader("\x1f\x8bnot gzip")); err == nil {
		t.Error("got no error of a broken archive")
	}
}

// A file that was cut short is called that, and not by what its last line lacks.
func TestReadEventsSaysThatACompressedFileIsCutShort(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(z).Encode(madeRun(3, 1).events[0]), z.Flush()); err != nil {
		t.Fatal(err)
	}
	whole := packed.Len()
	if err := errors.Join(json.NewEncoder(z).Encode(madeRun(4, 1).events[0]), z.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := readAll(bytes.NewReader(packed.Bytes()[:whole+(packed.Len()-whole)/2]))
	if err == nil || !strings.Contains(err.Error(), "events.jsonl: line 2: the compressed file is cut short here") {
		t.Errorf("got error %v, want one that says so", err)
	}
}

func TestJournalsNameTheLineAndTheField(t *testing.T) {
	t.Parallel()
	const (
		call  = `{"at":"2026-03-01T08:00:00Z","asked":"2026-03-01T08:00:00Z","op":"send","tenant":"bank","answer":"accepted","message":"01KMJ000000000000000AB0000"}`
		came  = `{"seq":1,"at":"2026-03-01T08:00:00Z","provider":"generic","path":"/","key":"k","user":"u","text":"t","answer":"accepted","status":200}`
		grant = `{"at":"2026-03-01T08:00:00Z","key":"c","windows":[{"max":1,"per":"1s"}],"op":"take","want":1,"granted":1,"refused_by":-1}`
		agent = `{"at":"2026-03-01T08:00:00Z","asked":"2026-03-01T08:00:00Z","agent":"p","op":"report","delivery":"01KMJ000000000000000AB0001","outcome":"sent","answer":"done"}`
		fault = `{"at":"2026-03-01T08:00:00Z","kind":"seen","note":"quarantine"}`
	)
	client := func(in *verify.Inputs, r io.Reader) { in.Client = r }
	sink := func(in *verify.Inputs, r io.Reader) { in.Sink = r }
	limiter := func(in *verify.Inputs, r io.Reader) { in.Limiter = r }
	agents := func(in *verify.Inputs, r io.Reader) { in.Agents = r }
	faults := func(in *verify.Inputs, r io.Reader) { in.Faults = r }
	for name, c := range map[string]struct {
		give           func(*verify.Inputs, io.Reader)
		good, old, new string
		want           string
	}{
		"client op":      {client, call, `"send"`, `"sent"`, `client journal: line 2: op: "sent" is not one of send, cancel`},
		"client answer":  {client, call, `"accepted"`, `"too_late"`, `answer: "too_late" is not one of accepted`},
		"client message": {client, call, `,"message":"01KMJ000000000000000AB0000"`, ``, `message: it is missing`},
		"client id":      {client, call, `01KMJ000000000000000AB0000`, `42`, `message: "42" is not an id`},
		"client tenant":  {client, call, `"bank"`, `""`, `tenant: it is missing`},
		"cancel of":      {client, call, `"send"`, `"cancel"`, `answer: "accepted" is not one of cancelled`},
		"sink answer":    {sink, came, `"accepted"`, `"yes"`, `sink journal: line 2: answer: "yes" is not one of refused, accepted, lost`},
		"sink time":      {sink, came, `"at":"2026-03-01T08:00:00Z",`, ``, `at: it is missing`},
		"sink field":     {sink, came, `"user"`, `"usr"`, `usr: there is no such field`},
		"limiter window": {limiter, grant, `"max":1`, `"max":0`, `limiter journal: line 2: windows: [0] allows 0 each 1s`},
		"limiter period": {limiter, grant, `"1s"`, `"1x"`, `windows: `},
		"limiter index":  {limiter, grant, `-1`, `1`, `refused_by: 1 is not -1 or the index of one of 1 windows`},
		"agent op":       {agents, agent, `"report"`, `"steal"`, `agents' journal: line 2: op: "steal" is not one of claim, start, give_back, report`},
		"agent id":       {agents, agent, `01KMJ000000000000000AB0001`, `42`, `delivery: "42" is not an id`},
		"agent answer":   {agents, agent, `"done"`, `"handed"`, `answer: "handed" is not one of done, evidence, stale, missing`},
		"agent outcome":  {agents, agent, `"sent"`, `"lost"`, `outcome: "lost" is not one of sent, delivered, not_sent, unknown`},
		"agent name":     {agents, agent, `"agent":"p"`, `"agent":""`, `agent: it is missing`},
		"fault kind":     {faults, fault, `"seen"`, `""`, `fault journal: line 2: kind: it is missing`},
		"client order":   {client, call, `"asked":"2026-03-01T08:00:00Z"`, `"asked":"2026-03-01T08:00:00.000001Z"`, `at: it is before asked`},
		"client twice":   {client, call, `"op":"send"`, `"op":"send","op":"send"`, `client journal: line 2: op: it is given twice`},
		"client year":    {client, call, `"at":"2026`, `"at":"2262`, `at: 2262-03-01T08:00:00Z is after 2261`},
		"sink no number": {sink, came, `"seq":1,`, ``, `seq: it is missing`},
		"sink provider":  {sink, came, `"provider":"generic",`, ``, `provider: it is missing`},
		"sink path":      {sink, came, `"path":"/",`, ``, `path: it is missing`},
		"sink text":      {sink, came, `"text":"t",`, ``, `text: it is missing`},
		"sink user":      {sink, came, `"user":"u",`, ``, `user: it is missing`},
		"sink nobody":    {sink, came, `"key":"k","user":"u"`, `"user":""`, `user: it is empty, as is the key, and the answer is accepted`},
		"sink 1960":      {sink, came, `2026`, `1960`, `sink journal: line 2: at: 1960-03-01T08:00:00Z is before 1970`},
		"limiter wanted": {limiter, grant, `"want":1,`, ``, `want: it is missing`},
		"limiter grants": {limiter, grant, `"granted":1,`, ``, `granted: it is missing`},
		"limiter by":     {limiter, grant, `,"refused_by":-1`, ``, `refused_by: it is missing`},
		"limiter none":   {limiter, grant, `[{"max":1,"per":"1s"}]`, `[]`, `windows: it is empty`},
		"limiter many":   {limiter, grant, `"granted":1`, `"granted":3`, `granted: 3 are more than the 1 that were wanted`},
		"limiter refund": {limiter, grant, `"take"`, `"refund"`, `granted: it is 1, and a refund grants nothing`},
		"limiter max":    {limiter, grant, `"max":1,`, ``, `windows: [0] max: it is missing`},
		"limiter twice":  {limiter, grant, `"max":1,`, `"max":1,"max":2,`, `windows: [0] max: it is given twice`},
		"limiter field":  {limiter, grant, `"max":1,`, `"max":1,"most":2,`, `windows: [0] most: there is no such field`},
		"agent order":    {agents, agent, `"asked":"2026`, `"asked":"2027`, `at: it is before asked`},
		"agent delivery": {agents, agent, `"delivery":"01KMJ000000000000000AB0001",`, ``, `delivery: it is missing`},
		"fault order":    {faults, fault, `"kind":"seen"`, `"until":"2026-03-01T07:59:59Z","kind":"seen"`, `until: it is before at`},
		"fault count":    {faults, fault, `"kind":"seen"`, `"n":-3,"kind":"seen"`, `n: -3 is not from 0`},
		"fault note":     {faults, fault, `"quarantine"`, `"luck"`, `note: "luck" is not one of stale_result_refused`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := plain().journals()
			in.Client, in.Sink, in.Limiter, in.Agents, in.Faults = nil, nil, nil, nil, nil
			c.give(&in, strings.NewReader(c.good+"\n"+strings.Replace(c.good, c.old, c.new, 1)))
			if !strings.Contains(c.good, c.old) {
				t.Fatalf("there is no %s", c.old)
			}
			if _, err := verify.Check(t.Context(), in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Blank lines count, in errors and in proofs.
func TestLinesAreNumberedAsAnEditorDoes(t *testing.T) {
	t.Parallel()
	h := plain().again("b2")
	in := h.journals()
	text, err := io.ReadAll(in.Client)
	if err != nil {
		t.Fatal(err)
	}
	in.Client = strings.NewReader("\n \n" + strings.Replace(string(text), "\n", "\n\n", 1))
	list := check(t, in).Invariant("I27").Violations
	if len(list) != 1 || !strings.Contains(list[0].Excerpt[0], "client line 3:") || !strings.Contains(list[0].Excerpt[1], "client line 5:") {
		t.Errorf("got %+v, want lines 3 and 5", list)
	}
}

// What its provider could not read is nobody's.
func TestARequestThatWasNotReadIsNoArrival(t *testing.T) {
	t.Parallel()
	in := plain().journals()
	in.Sink = io.MultiReader(in.Sink, strings.NewReader(`{"seq":9,"at":"2026-03-01T08:00:00Z","provider":"generic","path":"/","user":"","text":"?","answer":"refused","status":400}`))
	if r := check(t, in); r.Verdict != verify.Holds || r.Totals.Arrivals != 1 {
		t.Errorf("got %s:\n%s", r.Verdict, r.Page())
	}
}

// The proof of an arrival that names no delivery says what it does name.
func TestAnArrivalThatNamesNoDeliveryIsShownWithItsKeyAndUser(t *testing.T) {
	t.Parallel()
	h := plain()
	stranger := h.arrivals[0]
	stranger.Key, stranger.User = "order-7", "li.na"
	h.arrivals = append(h.arrivals, stranger)
	list := check(t, h.journals()).Invariant("I2").Violations
	if len(list) != 1 || list[0].Subject != "arrival 1" || !strings.Contains(list[0].Excerpt[0], "to li.na, key order-7") {
		t.Errorf("got %+v, want the key and the user", list)
	}
}

func TestSeenIsCountedAsItSays(t *testing.T) {
	t.Parallel()
	const fault = `{"at":"2026-03-01T08:00:00Z","kind":"seen","note":"deadlock_retried"`
	for text, want := range map[string]int{fault + "}": 1, fault + `,"n":4}`: 4, fault + `,"n":0}`: 0} {
		in := plain().journals()
		in.Faults = strings.NewReader(text)
		for _, s := range check(t, in).Sometimes {
			if s.Name == "deadlock_retried" && s.Seen != want {
				t.Errorf("%s: seen %d times, want %d", text, s.Seen, want)
			}
		}
	}
}

func TestCheckRefusesALogThatIsNotSorted(t *testing.T) {
	t.Parallel()
	a, b := plain(), plain()
	for i := range b.events {
		b.events[i].Delivery = posthouse.DeliveryID(posthouse.NewID(), 1)
	}
	in := a.journals()
	in.Events = eventsIn(append(b.events, a.events...))
	if _, err := verify.Check(t.Context(), in); err == nil || !strings.Contains(err.Error(), "must be sorted by delivery") {
		t.Errorf("got error %v, want one that says so", err)
	}
	if _, err := verify.Check(t.Context(), verify.Inputs{}); err == nil {
		t.Error("got no error without a log")
	}
}
