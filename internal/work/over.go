package work

import "github.com/posthouse/posthouse"

// Over says that something is over of which notifications tell.
type Over struct {
	// Kind and Ref are what they are about, and Source is who handed them in.
	Kind, Ref, Source string
	// Key is the dedup key of the message that is over. Defaults to all that are about it.
	Key string
	// By tells what says so from what says so another time.
	By string
	// Tells is what whoever got something of them is to hear, but for channel, recipient and content; Content is what it says by a channel. Default
	// to nothing: nobody hears of it.
	Tells   posthouse.Draft
	Content func(channel string) *posthouse.Content
}

// Ended is what became of the notifications of something that is over.
type Ended struct {
	// Found counts all of them, Marked those of which it was not said before, and Stopped those of these that waited.
	Found, Marked, Stopped int
}

// Count counts one.
func (e *Ended) Count(waited, first bool) {
	if e.Found++; first {
		e.Marked++
	}
	if waited {
		e.Stopped++
	}
}

// Add counts others too.
func (e *Ended) Add(o Ended) {
	e.Found, e.Marked, e.Stopped = e.Found+o.Found, e.Marked+o.Marked, e.Stopped+o.Stopped
}

// Things are what a message tells of, such as the alerts of a group that go on.
type Things struct {
	// Marks tell each from others. Left is how many its sender left out.
	Marks []string `json:"marks,omitempty"`
	Left  int      `json:"left,omitempty"`
}

// MostMarks bounds what is kept of one message.
const MostMarks = 1000

// Ongoing is what notifications tell of while nobody has said that it is over: Open what those tell of that wait or were acknowledged, and Told what
// those and the others tell of that told somebody.
type Ongoing struct{ Open, Told Tellers }

// Tellers are messages by what they tell of.
type Tellers struct {
	by    map[string]string // the newest message, by the mark
	left  int
	first string
}

// Add adds what an older message tells of.
func (t *Tellers) Add(message string, of *Things) {
	if t.by == nil {
		t.by, t.first = map[string]string{}, message
	}
	for _, mark := range of.Marks {
		if t.by[mark] == "" {
			t.by[mark] = message
		}
	}
	t.left = max(t.left, of.Left)
}

// Of is a message that tells of things, where messages tell of all of them; else empty.
func (t *Tellers) Of(things *Things) (message string) {
	if things.Left > t.left {
		return ""
	}
	message = t.first
	for i, mark := range things.Marks {
		by := t.by[mark]
		if by == "" {
			return ""
		}
		if i == 0 {
			message = by
		}
	}
	return message
}
