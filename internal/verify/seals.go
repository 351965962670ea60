package verify

// Seal is something that a hash chain has sealed, compared with what is stored now.
type Seal struct {
	Subject string // a message, or a link of the chain
	What    string // what is not as it was; empty for nothing
}

// judgeSeals holds that what was sealed is as it was (I36).
func (c *checker) judgeSeals() error {
	if c.in.Seals == nil {
		return nil
	}
	for s, err := range c.in.Seals {
		if err != nil {
			return err
		}
		c.checked(seals, 1)
		if s.What != "" {
			c.fail(seals, s.Subject, line("%s", s.Subject), "%s", s.What)
		}
	}
	return nil
}
