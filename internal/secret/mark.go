package secret

// markText is what a mark says; whoever can read it has the key.
const markText = "posthouse"

// Mark is a text by which a database knows its keyring again: only a keyring with this one's newest key opens it.
func (r *Keyring) Mark() (string, error) { return r.Seal(markText, AAD("keyring")) }

// Knows is nil for a mark that this keyring or one with the same key has made, else it says what is missing.
func (r *Keyring) Knows(mark string) error {
	_, err := r.Open(mark, AAD("keyring"))
	return err
}
