package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/wire"
)

// ProofOptions are what the commands that make a proof share: of whom it is, and where it goes.
type ProofOptions struct {
	// Person is the recipient of whom alone it is stated, by the user or the address. Empty for all.
	Person string

	output, page string
}

// AddFlags adds the flags.
func (o *ProofOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Person, "person", "", "state it of this recipient alone, by the `USER` or the address")
	flags.StringVar(&o.output, "output", "", "the `FILE` to write; standard output otherwise")
	flags.StringVar(&o.page, "page", "", "write it as a page too, to be read and printed, to this `FILE`: in Chinese, or with --lang en in English")
}

// Check refuses flags that cannot be meant, before anything is asked for.
func (o *ProofOptions) Check() error {
	if o.output != "" && o.output == o.page {
		return Usagef("--output and --page name one file: the page is another")
	}
	return nil
}

// Explain adds to an error that asks for one recipient by the API's name of the field which flag that is.
func (o *ProofOptions) Explain(err error) error {
	var e *posthouse.Error
	if errors.As(err, &e) && slices.ContainsFunc(e.Problems, func(p posthouse.Problem) bool { return p.Path == "query.person" }) {
		return Hint(err, "--person names one recipient, such as --person li.na")
	}
	return err
}

// Write writes a proof of a message, and its page where one is asked for. Files that are there already are not touched.
func (o *ProofOptions) Write(sh *Shell, made wire.Proof, message string) error {
	if o.page != "" {
		page, err := proof.Page(made, sh.lang != "en", sh.Location())
		if err == nil {
			err = NewFile("--page", o.page, func(to io.Writer) error { return written(to, page) })
		}
		if err != nil {
			return err
		}
	}
	if o.output == "" {
		return sh.PrintJSON(made)
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	if err := out.Encode(made); err != nil {
		return err
	}
	if err := NewFile("--output", o.output, func(to io.Writer) error { return written(to, text.Bytes()) }); err != nil {
		return err
	}
	return sh.Done(message, "stated, signed by the key %s", made.KeyID)
}

func written(to io.Writer, text []byte) error {
	_, err := to.Write(text)
	return err
}

// NewFile makes the file that a flag names, readable by its owner alone, and has it written. One that is there already is refused.
func NewFile(flag, path string, write func(to io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- the person's own file
	if err != nil {
		return Usagef("%s: %w", flag, err)
	}
	return errors.Join(write(file), file.Close())
}
