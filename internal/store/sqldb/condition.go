package sqldb

// Condition is part of a WHERE with its arguments.
type Condition struct {
	Text string
	Args []any
}

// Where is a condition.
func Where(text string, args ...any) Condition { return Condition{text, args} }

// And narrows the condition.
func (c *Condition) And(text string, args ...any) {
	c.Text += " AND " + text
	c.Args = append(c.Args, args...)
}

// Among keeps a column to some values; none are all.
func (c *Condition) Among(column string, values []string) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.And(column+" IN ("+Marks(len(values))+")", args...)
}
