package admission

import "github.com/posthouse/posthouse"

// batchSize is how many deliveries of different messages one call may take of an account: what suits a type of content, times
// how the account performs (its success times its speed, 0 to 1), at least 1 and at most what the driver takes. The sizes are
// those of the document of the WeCom sending module, in its part on the optimal size of a batch. What one message has itself is no part of it:
// its recipients go in as few calls as the driver allows.
func batchSize(of posthouse.ContentType, performance float64, most int) int {
	size := 30
	switch of {
	case posthouse.TextContent:
		size = 50
	case posthouse.ImageContent:
		size = 20
	case posthouse.FileContent:
		size = 10
	case posthouse.VideoContent:
		size = 5
	}
	return max(1, min(int(float64(size)*min(performance, 1)), most))
}
