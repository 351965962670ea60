package console

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
)

// errCodesFirst leads to where one-time codes are set up.
var errCodesFirst = errors.New("one-time codes have to be set up first")

// codesFirst reports whether the person has to set up one-time codes before what a visit asks for.
func codesFirst(v *visit) bool {
	path := v.r.URL.Path
	return v.person.WantsTOTP && path != Root+"me" && !strings.HasPrefix(path, Root+"me/") && path != Root+"sign-out"
}

// wanting is what the page shows that asks for the code of a sign-in.
type wanting struct {
	Half, Back, Wrong string
	Kept              string // a form that is sent when somebody has signed in
}

// letIn ends a sign-in: with a session, or with the page that asks for a code.
func letIn(v *visit, in people.Entry, back, kept string) error {
	if in.Half {
		return v.show("code", "sign_in", wanting{Half: in.Token, Back: back, Kept: kept})
	}
	if err := v.o.Desk.Replace(v.r.Context(), tokenOf(v.r), web.AddressOf(v.r)); err != nil {
		return err
	}
	keep(v.w, v.r, in.Token)
	if f, ok := readKept(kept); ok {
		return resume(v, f)
	}
	return v.goTo(back)
}

func completeSignIn(v *visit) error {
	return completeWith(v, wanting{Half: v.form("half"), Back: backTo(v.form("back")), Kept: v.form("kept")}, v.form("code"))
}

// completeWith ends a sign-in of which half is done, with a code.
func completeWith(v *visit, in wanting, code string) error {
	token, err := v.o.Desk.Complete(v.r.Context(), in.Half, code, web.AddressOf(v.r))
	if in.Wrong = codeRefusal(err); in.Wrong != "" {
		return v.draw(statusOf(in.Wrong), "code", "sign_in", in)
	}
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return v.draw(http.StatusUnauthorized, "sign-in", "sign_in", signingIn{Back: in.Back, Kept: in.Kept, Wrong: "sign_in_over", Provided: v.o.Provider != nil})
	}
	if err != nil {
		return err
	}
	return letIn(v, people.Entry{Token: token}, in.Back, in.Kept)
}

// codeRefusal is the word of why a code is not taken.
func codeRefusal(err error) string {
	switch why := refusal(err); {
	case err != nil && people.Held(err):
		return "code_held"
	case why == "wrong":
		return "code_wrong"
	default:
		return why
	}
}

// codes is what the page of one-time codes shows.
type codes struct {
	people.Enrolment
	QR    qrCode
	Link  template.URL // the offer's, which begins with no scheme of the web
	Must  bool         // nothing else is shown before
	Has   bool
	Left  int      // recovery codes
	Spare []string // recovery codes that were made just now
	Wrong string
}

// Fleeting says that the page has secrets.
func (c codes) Fleeting() bool { return true }

// qrCode is a QR code: how many modules a side has, and the dark ones as a path.
type qrCode struct {
	Side int
	Path string
}

// border is the empty border of a QR code, in modules (ISO/IEC 18004).
const border = 4

// drawn is a text as a QR code.
func drawn(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw a QR code: %w", err)
	}
	side := code.Bounds().Dx()
	var path strings.Builder
	for y := range side {
		for x := range side {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+border, y+border)
			}
		}
	}
	return qrCode{side + 2*border, path.String()}, nil
}

func showCodes(v *visit) error { return drawCodes(v, http.StatusOK, codes{}) }

// drawCodes fills in what the page of one-time codes shows beside what was just done.
func drawCodes(v *visit, status int, c codes) (err error) {
	if c.Has = v.person.TOTP || c.Spare != nil; c.Has {
		c.Left, err = v.o.Desk.SpareLeft(v.r.Context(), v.person)
	} else {
		if c.Enrolment, err = v.o.Desk.OfferTOTP(v.person, v.form("sealed")); err == nil {
			c.Link, c.Must = template.URL(c.URL), v.person.WantsTOTP //nolint:gosec // the desk made it
			c.QR, err = drawn(c.URL)
		}
	}
	if err != nil {
		return err
	}
	return v.draw(status, "codes", "codes", c)
}

// afterCode draws the page again where a code was not taken.
func afterCode(v *visit, err error, c codes) error {
	if c.Wrong = codeRefusal(err); c.Wrong != "" {
		return drawCodes(v, http.StatusUnprocessableEntity, codes{Wrong: c.Wrong})
	}
	if err != nil {
		return err
	}
	return drawCodes(v, http.StatusOK, c)
}

func takeCodes(v *visit) error {
	spare, err := v.o.Desk.TakeTOTP(v.r.Context(), v.person, v.form("sealed"), v.form("code"), web.AddressOf(v.r))
	return afterCode(v, err, codes{Spare: spare})
}

func renewSpare(v *visit) error {
	spare, err := v.o.Desk.RenewSpare(v.r.Context(), v.person, v.form("code"), web.AddressOf(v.r))
	return afterCode(v, err, codes{Spare: spare})
}

func dropCodes(v *visit) error {
	err := v.o.Desk.DropTOTP(v.r.Context(), v.person, v.form("code"), web.AddressOf(v.r))
	if err != nil {
		return afterCode(v, err, codes{})
	}
	return v.goTo(Root + "me?said=codes_off_said")
}
