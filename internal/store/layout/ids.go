package layout

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// DeliveryRange is the range that holds the ids of a message's deliveries: above low, up to
// high. It is empty for what is not the id of a message.
func DeliveryRange(message string) (low, high string) {
	if !posthouse.ValidID(message) || posthouse.DeliveryNumber(message) != 0 {
		return "", ""
	}
	return message, posthouse.LastDeliveryID(message)
}

// IDAt is the lowest id that can be made at a time.
func IDAt(t time.Time) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // as posthouse.NewID
	ms := max(t.UnixMilli(), 0)
	out := []byte(strings.Repeat("0", 26))
	for i := 9; i >= 0; i-- {
		out[i] = alphabet[ms&31]
		ms >>= 5
	}
	return string(out)
}

// TimeOfID is the time of an id, in whole milliseconds.
func TimeOfID(id string) time.Time {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // as posthouse.NewID
	ms := int64(0)
	for i := range min(10, len(id)) {
		ms = ms<<5 | int64(max(0, strings.IndexByte(alphabet, id[i])))
	}
	return time.UnixMilli(ms).UTC()
}

// IDRanges is the condition that a delivery belongs to one of the messages. It does not say between which ids all of them are: SQLite would
// then read all that lies between.
func IDRanges(column string, messages []string) sqldb.Condition {
	var parts []string
	var args []any
	for _, m := range messages {
		if low, high := DeliveryRange(m); low != "" {
			parts, args = append(parts, "("+column+" > ? AND "+column+" <= ?)"), append(args, low, high)
		}
	}
	if len(parts) == 0 {
		return sqldb.Where("1 = 0")
	}
	return sqldb.Where("("+strings.Join(parts, " OR ")+")", args...)
}

// IDOnly is an id, and nothing in its place where a caller gave something else: id columns
// hold plain letters, and some databases will not even compare others.
func IDOnly(id string) string {
	if posthouse.ValidID(id) {
		return id
	}
	return ""
}

// MessageOfSole is the message that may carry a delivery; nothing for a delivery that none carries.
func MessageOfSole(id string) string {
	if !posthouse.ValidID(id) || posthouse.DeliveryNumber(id) != 1 {
		return ""
	}
	return posthouse.MessageID(id)
}

// IDList is ids as a JSON array: they are plain letters.
func IDList(ids []string) string { return `["` + strings.Join(ids, `","`) + `"]` }

// ReadList reads what IDList wrote.
func ReadList(text string) []string {
	text = strings.NewReplacer(`"`, "", " ", "").Replace(strings.Trim(text, "[]"))
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
