package inbound

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Form is the language of one kind of senders.
type Form struct {
	// Kind names it in addresses, commands and the database.
	Kind string
	// Title is what its makers call it, and TitleZH in Chinese where that is another name.
	Title, TitleZH string
	// Paths are where its senders post at the original's own address, as path.Match reads them, or what such a path begins with where one ends in a
	// slash: who calls one of them beside the fronts is told of the front. Driver is that of channels which send to the same address, for who has
	// called their own robot's here. Default to none.
	Paths  []string
	Driver string
	// Shown is the token in what stands in a path in its place, where the original's keys have another form. Defaults to the text itself.
	Shown func(text string) string
	// Tokens are where its senders show a token besides a part of the path, the query's token and the header Authorization. Defaults to none.
	Tokens func(r *Request) []string
	// Read makes messages of a request, in the order in which they are to be sent. An error is the caller's to mend; none and no message
	// is a request that asks for none.
	Read func(r *Request) ([]Message, error)
	// Answer tells the caller what became of it, in the sender's own form.
	Answer func(w http.ResponseWriter, r *Request, out Result)
	// Setup is what to write at the sender, for a front at a URL without a path.
	Setup func(s Setup) []Snippet
	// MaxBody bounds a body in bytes. Defaults to that of the API.
	MaxBody int64
	// Window is how long the same is taken once, where a front does not say it. Defaults to 5m.
	Window time.Duration
	// Priorities are those of the words for how bad something is. Words are small letters.
	Priorities map[string]posthouse.Priority
	// Groups says that a request may bring several things at once, so that Each of a front has a meaning. Signs says that its senders
	// can sign what they send. Expressions says that the front's own make the message.
	Groups, Signs, Expressions bool
	// Names says that its senders name the recipients, which then are those of a front that has none of its own. It is for senders that
	// are there to write to whom they name: the token of such a front writes to anybody whom its channel reaches.
	Names bool
	// Check says what is wrong with the settings of a front beyond what all have. Defaults to nothing.
	Check func(s posthouse.FrontSettings) []posthouse.Problem
}

// Request is a call at a front.
type Request struct {
	*http.Request
	// Rest are the parts of the path behind the kind and the token, unescaped.
	Rest []string
	Body []byte
	// Token is what the caller showed. It is empty where the caller is not known yet.
	Token string
	Front posthouse.Front
	// Zone is the server's, and Now when the call came.
	Zone *time.Location
	Now  time.Time

	// Kept is the id of the file that the call had kept.
	Kept string
	// Found is the message that the call asks for.
	Found *Found

	notes  []string
	parsed map[string]string
	keep   func(File) (string, error)
	find   func(id string) (*Found, error)
}

// Note says something about the call that is kept with it, such as what was left out.
func (r *Request) Note(text string) { r.notes = append(r.notes, text) }

// Chinese reports whether the front's own text is Chinese.
func (r *Request) Chinese() bool { return r.Front.Language == "zh" }

// Message is one thing that a request asks to tell.
type Message struct {
	Title, Text string
	// Markdown is the text for channels that send Markdown. Defaults to Text.
	Markdown string
	// Severity is the sender's word for how bad it is, and Priority what follows from it besides the words that the front and its kind know.
	Severity string
	Priority posthouse.Priority
	// Labels are what the lines of a front's table look at.
	Labels map[string]string
	// Payload is what a template of the front is filled with.
	Payload map[string]any
	// Key tells what is the same from what is another, where the sender says it.
	Key string
	// Over says that what Ref is about is over: of notifications of it no further step begins, and who was told hears of it. Ends is the Key of the
	// message that is over. Defaults to all of its Ref.
	Over bool
	Ends string
	// Things are what it tells of that goes on: by a route nothing begins that tells of nothing else than what is known. Partly says that it tells of
	// what is over too, so that it is no reminder either. Nil where nothing is known of that.
	Things *work.Things
	Partly bool
	// ID is what its sender calls the message, where it is the only one of a call: it is taken once for as long as an Idempotency-Key is
	// kept, and another message of the id is refused.
	ID string
	// Ref is what the message is about, in the sender's words.
	Ref                 string
	NotBefore, Deadline time.Time
	// To are whom the sender names, for a form that says so.
	To []posthouse.Recipient
	// Files are attached to it. Those that its channel sends are messages of their own; the others are named in its text.
	Files []File
	// Alone says that the files are all of it: its text is for channels that do not send them.
	Alone bool
	// Tail is what the text ends with, however much of it is cut: what is left out of it, such as "\n\n… and 3 more".
	Tail string
}

// One is the message of a request that brings one. A message without a title and a text is refused.
func One(m Message, err error) ([]Message, error) {
	if err == nil && channel.Blank(m.Title+m.Text) {
		err = errors.New("there is no text in it")
	}
	return []Message{m}, err
}

// Status is how a call ended.
type Status int

// The ends of a call.
const (
	Accepted     Status = iota // committed, or it asks for no message
	Unauthorized               // no token, or a wrong one
	Refused                    // it cannot be read
	TooLarge                   // its body is beyond the bound
	Unavailable                // it could not be committed: come again
	Conflict                   // its id is that of another message
	Absent                     // there is nothing where it looks
)

// HTTP is the usual status code of an end.
func (s Status) HTTP() int {
	switch s {
	case Unauthorized:
		return http.StatusUnauthorized
	case Refused:
		return http.StatusBadRequest
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Unavailable:
		return http.StatusServiceUnavailable
	case Conflict:
		return http.StatusConflict
	case Absent:
		return http.StatusNotFound
	}
	return http.StatusOK
}

// Result is what became of a call.
type Result struct {
	Status Status
	// Reason says why it was not taken, in words for the caller.
	Reason string
	// Accepted are the messages, of a call that was taken.
	Accepted []posthouse.Accepted

	again bool       // it was taken before, by its id
	ended work.Ended // the notifications that are over by it
}

// ID is that of the first message, empty without any.
func (r Result) ID() string {
	if len(r.Accepted) == 0 {
		return ""
	}
	return r.Accepted[0].ID
}

// Setup is what a sender is to be told of a front.
type Setup struct {
	// URL is the front's without a token, such as https://post.example.com/in/ntfy.
	URL   string
	Token string
	Front posthouse.Front
}

// Address is the URL with the token in its path.
func (s Setup) Address() string { return s.URL + "/" + s.Token }

// Snippet is something to paste.
type Snippet struct {
	// Title says where it goes.
	Title string `json:"title"`
	Text  string `json:"text"`
}

// ErrSignature is what Read answers to a call whose signature is missing or wrong.
var ErrSignature = errors.New("the signature is missing or wrong: its secret is the token of the front")

// AnswerText tells in plain text why something was not taken. It is the answer of senders that write it to their log.
func AnswerText(w http.ResponseWriter, _ *Request, out Result) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(out.Status.HTTP())
	_, _ = io.WriteString(w, out.Reason) // a caller who left is no error of ours
}

// AnswerJSON writes an answer as JSON.
func AnswerJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // forms answer texts and numbers
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller who left is no error of ours
}
