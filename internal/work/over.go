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
