package work

// Over says that something is over of which notifications tell.
type Over struct {
	// Kind and Ref are what they are about, and Source is who handed them in.
	Kind, Ref, Source string
	// Key is the dedup key of the message that is over. Defaults to all that are about it.
	Key string
	// By tells what says so from what says so another time.
	By string
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
