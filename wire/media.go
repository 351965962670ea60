package wire

import "time"

// FetchMedia names a file that the server fetches.
type FetchMedia struct {
	URL  string `json:"url" doc:"Where the file is, http or https. It is fetched once, without redirects, from where the server's network settings allow."`
	Name string `json:"name,omitempty" doc:"Under which name recipients get it. Defaults to the last part of the URL's path."`
}

// StoredMedia is a file that was handed in to be sent.
type StoredMedia struct {
	ID        string    `json:"id" doc:"What a content names it by: media[].upload."`
	Name      string    `json:"name" doc:"Under which name recipients get it."`
	Type      string    `json:"type" doc:"Its media type."`
	Size      int64     `json:"size" doc:"In bytes."`
	Sum       string    `json:"sha256" doc:"The SHA-256 of its bytes, in hex."`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it is deleted. A message that names it, and the same file handed in again, put that off."`
}
