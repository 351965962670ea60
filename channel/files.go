package channel

import "context"

// Files has the files that were handed in to be sent: those that a content names by upload.
type Files interface {
	// File reads a file of the channel's tenant. An error of code not_found says that it was deleted, or that its time is
	// over.
	File(ctx context.Context, id string) (File, error)
}

// File is a file that was handed in.
type File struct {
	// Name is under which name recipients get it, Type its media type.
	Name, Type string
	Body       []byte
}
