package config

// Client is what a command that calls a running server is told.
type Client struct {
	// URL is where the server is. Defaults to http://127.0.0.1:8080.
	URL string
	// Key is the API key. Defaults to none.
	Key string
}

// clientSettings is the table of what those commands can be told.
var clientSettings = []setting[Client]{{
	name: "url", def: "http://127.0.0.1:8080",
	help:  "where the server is, a `URL`",
	parse: func(c *Client, v string) error { return address(&c.URL, v, "http", "https") },
}, {
	name: "key", env: "POSTHOUSE_API_KEY", secret: true,
	help:  "the API `KEY`; better given by its variable, where others cannot read it",
	parse: func(c *Client, v string) error { return text(&c.Key, v) },
}}

// LoadClient reads the settings of a command that calls a server, from all sources but the
// YAML file, which is the server's, and a .env that --env-file does not name.
func LoadClient(from Sources) (Client, error) {
	c := Client{URL: "http://127.0.0.1:8080"}
	from.clientOnly = true
	_, _, err := load(clientSettings, &c, from)
	return c, err
}
