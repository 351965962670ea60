package duty

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// status is a delivery's state in the document's words.
func status(d *posthouse.Delivery) string {
	switch {
	case d.State == posthouse.Pending && d.Tries > 0, d.State == posthouse.Unknown:
		return "failure"
	case d.State == posthouse.Pending, d.State == posthouse.Sending:
		return "pending"
	case d.State == posthouse.Sent, d.State == posthouse.Delivered:
		return "success"
	case d.State == posthouse.Failed:
		return "stopped"
	}
	return string(d.State)
}

// statesOf are the states a status word stands for: status the other way round.
func statesOf(status string) ([]posthouse.State, work.Tried) {
	switch status {
	case "pending":
		return []posthouse.State{posthouse.Pending, posthouse.Sending}, work.NeverTried
	case "failure":
		return []posthouse.State{posthouse.Pending, posthouse.Unknown}, work.TriedBefore
	case "success":
		return []posthouse.State{posthouse.Sent, posthouse.Delivered}, 0
	case "stopped":
		return []posthouse.State{posthouse.Failed}, 0
	}
	if s := posthouse.State(status); s.Valid() {
		return []posthouse.State{s}, 0
	}
	return nil, 0
}
