package suppressions

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/console/host"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/wire"
)

// intake is a file of suppressions on its way: it is looked at first, and stored when that is confirmed.
type intake struct {
	Text                   string // of the file, in UTF-8
	Book                   string // a workbook of several sheets instead, in base64
	Sheet                  string // of it
	Sheets                 []string
	Channel, Until, Reason string // of records that do not say it
	Note                   string
	Open                   bool
	Look                   *wire.SuppressionImport
	Problems               []posthouse.Problem
}

// mostText bounds the text of a file, in bytes, and a workbook that the form keeps: what is shown must fit into the form that confirms it.
const mostText = 900 << 10

// take looks at a file, and stores it when that was seen.
func take(v *host.Visit) error {
	var err error
	f := intake{Text: v.Form("csv"), Sheet: v.Form("sheet"), Channel: v.Form("channel"), Until: v.Form("until"), Reason: v.Form("reason"), Note: v.Form("note"), Open: true}
	in := wire.SuppressionDraft{Channel: f.Channel, Reason: f.Reason}
	if in.Until, err = untilOf(v, f.Until); err != nil {
		f.Problems = append(f.Problems, posthouse.Problem{Path: "until", Message: err.Error()})
	}
	if err := f.read(v); err != nil {
		f.Problems = append(f.Problems, posthouse.Problem{Path: "file", Message: err.Error()})
	}
	if len(f.Problems) > 0 {
		return draw(v, http.StatusUnprocessableEntity, list{File: f})
	}
	would, err := v.API.Suppressions.TryImport(v.Ctx(), client.Part{}, in, strings.NewReader(f.Text))
	if err != nil {
		return f.refused(v, err)
	}
	if v.Form("sure") == "" || f.Sheet != v.Form("seen") || v.Form("again") != "" {
		f.Look = &would
		return draw(v, http.StatusOK, list{File: f})
	}
	if _, err := v.API.Suppressions.Import(v.Noted(), client.Part{}, in, strings.NewReader(f.Text)); err != nil {
		return f.refused(v, err)
	}
	return v.GoTo(v.At("suppressions") + "?said=stored&source=" + string(posthouse.SuppressedByImport))
}

// read takes the text of the file that was chosen, whatever its encoding, or else what was pasted, or of the workbook that the form kept.
func (f *intake) read(v *host.Visit) error {
	file, _, err := v.R.FormFile("file")
	if err == nil {
		defer file.Close()
		if err := f.open(v, file); err != nil {
			return err
		}
	}
	if book := v.Form("book"); book != "" && f.Text == "" {
		if err := f.open(v, base64.NewDecoder(base64.StdEncoding, strings.NewReader(book))); err != nil {
			return err
		}
	}
	switch {
	case strings.TrimSpace(f.Text) == "":
		return errors.New(v.Say("supp_no_file"))
	case len(f.Text) > mostText:
		f.Text = ""
		return errors.New(v.Say("supp_file_long"))
	}
	return nil
}

// open reads a file; an empty one, which a browser sends where none was chosen, is none.
func (f *intake) open(v *host.Visit, file io.Reader) error {
	all, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("the file cannot be read: %w", err)
	}
	text, err := audience.Open(bytes.NewReader(all), audience.Format{Sheet: f.Sheet}, suppress.Plain)
	if err != nil {
		return err
	}
	defer text.Close()
	f.Sheet, f.Sheets = text.Sheet, text.Sheets
	if len(f.Sheets) > 1 && base64.StdEncoding.EncodedLen(len(all)) <= mostText {
		f.Book = base64.StdEncoding.EncodeToString(all)
	}
	whole, err := io.ReadAll(io.LimitReader(text, mostText+1))
	switch {
	case err != nil:
		return fmt.Errorf("the file cannot be read: %w", err)
	case len(whole) > mostText:
		return errors.New(v.Say("supp_file_long"))
	case len(whole) > 0:
		f.Text = string(audience.Text(whole))
	}
	return nil
}

// refused shows the form with what is wrong with the file, or with what holds for all of it.
func (f *intake) refused(v *host.Visit, err error) error {
	problems, refused := problemsOf(err)
	if !refused {
		return err
	}
	f.Problems = problems
	return draw(v, http.StatusUnprocessableEntity, list{File: *f})
}

// told is what is wrong with a line of a file: the word of the column, empty for the whole line, and what is said of that.
type told struct{ Word, Said string }

// Told tells the column from what is said of it.
func (intake) Told(r wire.RefusedRecord) told {
	column, said, _ := strings.Cut(r.Reason, ": ")
	if word := map[string]string{"address": "supp_address", "channel": "supp_where", "reason": "reason", "until": "supp_until"}[column]; word != "" {
		return told{word, said}
	}
	return told{Said: r.Reason}
}
