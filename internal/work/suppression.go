package work

// SuppressionsOf says which suppressions are listed.
type SuppressionsOf struct {
	Channel   string   // empty for any
	Addresses []string // none for any
}
