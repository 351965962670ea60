package api

import "github.com/posthouse/posthouse/internal/web"

// The forms of what is exported.
const (
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

// formatOf is in which form a list is wanted.
func formatOf(c *web.Call) string {
	format := c.Query.Get("format")
	if format != "" && format != formatNDJSON && format != formatCSV {
		c.Refuse("query.format", "is %.60q: want ndjson or csv", format)
	}
	return format
}

// exportPart is how many lines are read at once for an export.
const exportPart = 200
