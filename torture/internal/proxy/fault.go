package proxy

import (
	"math/rand/v2"
	"time"
)

// Faults is what is wrong with the link. The zero value is a good one.
type Faults struct {
	Up   Way // from the client to the server
	Down Way // from the server to the client
	// Refuse resets new connections at once. Those that are open stay.
	Refuse bool
	// AnswerLost strikes commits that the server carries out: the connection is reset when the
	// answer comes, and none of it passes.
	AnswerLost Strike
	// CommitLost strikes commits before the server hears of them: the connection is reset on both
	// sides, and the server undoes the transaction.
	CommitLost Strike
}

// Both is the same fault on both ways.
func Both(w Way) Faults { return Faults{Up: w, Down: w} }

// Way is how bytes travel in one direction. The zero value is as fast as it can be.
type Way struct {
	// Latency holds each piece that was read, up to 32 KiB, for so long, and up to Jitter longer.
	// A piece waits for the one before it.
	Latency, Jitter time.Duration
	// Slice passes at most so many bytes at a time with Pause between them. Defaults to 0: all at once.
	Slice int
	Pause time.Duration
	// Hole lets nothing pass, not even the end of a connection. What has come waits, and passes when
	// the hole is gone, as what TCP sends again does.
	Hole bool
}

func (w Way) delay(random *rand.Rand) time.Duration {
	if w.Jitter <= 0 {
		return w.Latency
	}
	return w.Latency + time.Duration(random.Int64N(int64(w.Jitter)+1))
}

// Strike picks commits: the next so many, and a share, 0 to 1, of those after them.
type Strike struct {
	Next  int
	Share float64
}

func (s *Strike) hits(random *rand.Rand) bool {
	if s.Next > 0 {
		s.Next--
		return true
	}
	return s.Share > 0 && random.Float64() < s.Share
}

// verdict is what becomes of a commit.
type verdict int

const (
	spared verdict = iota
	answerLost
	commitLost
)

// Stats counts what happened since the start.
type Stats struct {
	Connections int64 // that were opened to the target
	Refused     int64
	Open        int64 // now
	Commits     int64 // that were seen
	AnswersLost int64
	CommitsLost int64
}

// Struck is how many commits were ambiguous to their client.
func (s Stats) Struck() int64 { return s.AnswersLost + s.CommitsLost }
