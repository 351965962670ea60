package flow

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"
)

// layout is how times stand in texts (section 5.2 of the document).
const layout = "2006-01-02 15:04"

// payload is what the texts of every notice of a task can name.
func (d *deriver) payload() map[string]any {
	return map[string]any{
		"taskId": identifier(d.id), "taskName": d.task.Name, "taskCode": d.task.Code,
		"creatorName": d.creator, "createTime": d.local(d.known.createdAt()),
	}
}

func (d *deriver) local(t time.Time) string { return t.In(d.zone).Format(layout) }

// identifier writes an id as a number where it is one, as the document's payloads do.
func identifier(id string) any {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && strconv.FormatInt(n, 10) == id {
		return n
	}
	return id
}

// json is the payload of a notice's message. What the event says adds to what we know, and changes none of it.
func (n *notice) json() json.RawMessage {
	all := map[string]json.RawMessage{}
	if len(n.extra) > 0 {
		_ = json.Unmarshal(n.extra, &all) // it was checked to be an object
	}
	for name, value := range maps.All(n.payload) {
		all[name] = canonical(value)
	}
	return canonical(all)
}
