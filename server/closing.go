package server

import "errors"

// closing ends what was opened, the last first. It is used by one goroutine at a time.
type closing []func() error

// add has something closed at the end, before all that was added earlier.
func (c *closing) add(end func() error) { *c = append(*c, end) }

// close ends everything, also where one of them fails. A second call ends nothing twice.
func (c *closing) close() error {
	var errs []error
	for len(*c) > 0 {
		last := len(*c) - 1
		end := (*c)[last]
		*c = (*c)[:last]
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
