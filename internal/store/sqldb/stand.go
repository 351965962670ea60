package sqldb

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Stand is on which timeline of which PostgreSQL cluster a transaction stands, and whether its commits wait for a standby. MariaDB has
// no timelines: what is kept says which server it was kept by, and where another one finds that it counts one on. The
// zero value is that of a database that tells none: another one, or one behind something that is not PostgreSQL's own.
type Stand struct {
	System   string // the identifier that a cluster has from its making on, and its standbys too
	Timeline int64  // rises with each promotion, and each restore to a point in time
	Sync     bool   // a commit is on a standby before it is answered
	Server   string // the server_id of MariaDB; empty elsewhere
}

// Promoted reports whether a standby was promoted between two stands of one cluster.
func (s Stand) Promoted(since Stand) bool {
	return since.System != "" && s.System == since.System && s.Timeline > since.Timeline
}

// Text is how it is kept.
func (s Stand) Text() string {
	way := "async"
	if s.Sync {
		way = "sync"
	}
	return strings.TrimRight(fmt.Sprintf("%s %d %s %s", s.System, s.Timeline, way, s.Server), " ")
}

// ParseStand reads what Text wrote, and the zero value from anything else.
func ParseStand(text string) Stand {
	words := strings.Fields(text)
	if len(words) == 3 {
		words = append(words, "")
	}
	if len(words) != 4 {
		return Stand{}
	}
	timeline, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return Stand{}
	}
	return Stand{words[0], timeline, words[2] == "sync", words[3]}
}

// Stand reads it.
func (t *Tx) Stand() (Stand, error) {
	if !t.DB.stands {
		return Stand{}, nil
	}
	if t.DB.mysql != nil {
		return t.DB.mysql.stand(t)
	}
	text, _, err := First(t.Query, Word, t.DB.Dialect.stand)
	return ParseStand(text), err
}

// newSystem names a cluster that has no name of its own.
func newSystem() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
