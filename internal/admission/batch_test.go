package admission

import (
	"math"
	"testing"

	"github.com/posthouse/posthouse"
)

// FLEET-6: the document's sizes, by type, times how the account performs.
func TestABatchIsAsLargeAsItsTypeAndAccountAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of          posthouse.ContentType
		performance float64
		most, want  int
	}{
		{posthouse.TextContent, 1, 1000, 50}, {posthouse.ImageContent, 1, 1000, 20}, {posthouse.FileContent, 1, 1000, 10}, {posthouse.VideoContent, 1, 1000, 5},
		{posthouse.MarkdownContent, 1, 1000, 30}, {posthouse.NewsContent, 1, 1000, 30},
		{posthouse.TextContent, 0.5, 1000, 25}, {posthouse.VideoContent, 0.39, 1000, 1}, {posthouse.VideoContent, 0, 1000, 1},
		{posthouse.TextContent, 1, 20, 20}, {posthouse.TextContent, 1, 1, 1}, {posthouse.TextContent, 1.5, 1000, 50}, {posthouse.TextContent, math.Inf(1), 1000, 50},
	} {
		if got := batchSize(c.of, c.performance, c.most); got != c.want {
			t.Errorf("of %s at %v, where the driver takes %d: %d, want %d", c.of, c.performance, c.most, got, c.want)
		}
	}
}
