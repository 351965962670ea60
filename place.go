package posthouse

// Place names a place, of several that an installation runs at, and where its server is.
type Place struct {
	Name string `json:"name"`
	// URL is empty where the server was not told it.
	URL string `json:"url,omitempty"`
}
