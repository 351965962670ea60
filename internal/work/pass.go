package work

import "time"

// Pass lets a person into the console: a link once, a session until it ends.
type Pass struct {
	Mark                      string // the hash of what the person shows
	Person                    string
	Source                    string // the address it was made for
	CreatedAt, SeenAt, EndsAt time.Time
}
