package state

import "reflect"

// Renewed reports whether the channel that replaces c has another config, or an account of it was stored anew, such as with a new
// secret: what a provider refused of the old one does not count. How fast it may be called is said by no config.
func (c *Channel) Renewed(now *Channel, account string) bool {
	was, is := c.Opened.Account(account), now.Opened.Account(account)
	return c.Stored.Driver != now.Stored.Driver || !reflect.DeepEqual(c.Stored.Config, now.Stored.Config) || was != nil && (is == nil || is.Version != was.Version)
}

// Remade reports whether an account is another one in the channel that replaces c, or none: nothing that was said of the old one
// counts.
func (c *Channel) Remade(now *Channel, account string) bool {
	was, is := c.Opened.Account(account), now.Opened.Account(account)
	return was != nil && (is == nil || !is.CreatedAt.Equal(was.CreatedAt))
}

// Versions are those of a channel and of an account of it, 0 for the one without a name.
func (c *Channel) Versions(account string) (channel, ofAccount int64) {
	if a := c.Opened.Account(account); a != nil {
		ofAccount = a.Version
	}
	return c.Stored.Version, ofAccount
}
