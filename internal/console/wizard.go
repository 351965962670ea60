package console

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/wire"
)

// brief is the form of a new campaign.
type brief struct {
	Channels  []posthouse.Channel
	Templates []posthouse.Template
	Lists     []posthouse.Audience // that are complete
	List      string
	Name      string
	Channel   string
	Template  string
	Title     string
	Text      string
	Payload   string
	Deadline  string
	NotWithin string
	Canary    string
	Failures  string // of the canary, in percent
	Spread    string
	Brake     string // the share of failures, in percent
	After     string // how many members come before the brake
	Problems  []posthouse.Problem
}

func showNewCampaign(v *visit) error {
	b := brief{Channel: v.query("channel"), Template: v.query("template"), Failures: "5", After: "100"}
	return b.draw(v, http.StatusOK)
}

// draw shows the form with the channels and templates there are.
func (b *brief) draw(v *visit, status int) (err error) {
	if b.Channels, err = v.call().Channels.List(v.ctx()); err != nil {
		return err
	}
	b.Channels = slices.DeleteFunc(b.Channels, func(ch posthouse.Channel) bool { return ch.Pull || ch.Driver == "pull" }) // agents fetch what these have
	if b.Templates, err = storedTemplates(v); err != nil {
		return err
	}
	lists, err := v.call().Audiences.List(v.ctx(), client.Filter{Limit: pageLength})
	if err != nil {
		return err
	}
	b.Lists = slices.DeleteFunc(lists.Items, func(a posthouse.Audience) bool { return a.State != posthouse.AudienceReady })
	return v.draw(status, "campaign-form", "new_campaign", b)
}

// makeCampaign makes the campaign of a form, to which nobody belongs yet.
func makeCampaign(v *visit) error {
	b := brief{
		Name: v.form("name"), Channel: v.form("channel"), Template: v.form("template"), Title: v.form("title"), Text: v.form("text"),
		Payload: v.form("payload"), Deadline: v.form("deadline"), NotWithin: v.form("not_told_within"), Canary: v.form("canary"), Failures: v.form("failures"),
		List: v.form("audience"), Spread: v.form("spread"), Brake: v.form("brake"), After: v.form("brake_after"),
	}
	draft := b.draft(v)
	if len(b.Problems) == 0 {
		_, err := v.call().Campaigns.Create(withNote(v.ctx(), v.form("note")), draft)
		if err == nil {
			return v.goTo(v.at("campaigns", draft.Name) + "?said=stored")
		}
		if b.Problems = refusalOf(err, "name"); b.Problems == nil {
			return err
		}
	}
	return b.draw(v, http.StatusUnprocessableEntity)
}

// refusalOf are the problems of what the API calls wrong or taken, at a place where it names none; nil for other errors.
func refusalOf(err error, path string) []posthouse.Problem {
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeInvalid && coded.Code != posthouse.CodeConflict {
		return nil
	}
	if len(coded.Problems) > 0 {
		return coded.Problems
	}
	return problemAt(path, coded.Message)
}

// draft is the campaign that the form describes; what cannot be read is a problem.
func (b *brief) draft(v *visit) wire.CampaignDraft {
	said := says(b.Template, b.Title, b.Text)
	d := wire.CampaignDraft{Name: b.Name, Channel: b.Channel, Template: said.Template, Content: said.Content, OwnText: said.OwnText, Audience: b.List}
	if b.Payload != "" {
		d.Payload = json.RawMessage(b.Payload)
		if !json.Valid(d.Payload) {
			b.wrong(v, "payload", "want_json")
		}
	}
	var ok bool
	if d.Deadline, ok = momentIn(v, b.Deadline); !ok {
		b.wrong(v, "deadline", "want_time")
	}
	if b.NotWithin != "" && d.NotToldWithin.UnmarshalText([]byte(b.NotWithin)) != nil {
		b.wrong(v, "not_told_within", "want_span")
	}
	if b.Spread != "" && d.Spread.UnmarshalText([]byte(b.Spread)) != nil {
		b.wrong(v, "spread", "want_span")
	}
	if b.Canary != "" {
		members, share := b.number(v, "canary", b.Canary), b.share(v, "failures", cmp.Or(b.Failures, "0"))
		d.Canary = &posthouse.Canary{Members: members, MaxFailures: share}
	}
	if b.Brake != "" {
		d.Brake = &posthouse.Brake{Above: b.share(v, "brake", b.Brake), After: b.number(v, "brake_after", cmp.Or(b.After, "100"))}
	}
	return d
}

// momentIn reads a field of a day and a time in the visitor's zone, the zero time for an empty one; false says that it cannot be read.
func momentIn(v *visit, text string) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	at, err := time.ParseInLocation("2006-01-02T15:04", text, zoneFor(v))
	return at, err == nil
}

// number reads how many people a field says.
func (b *brief) number(v *visit, path, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.wrong(v, path, "want_number")
	}
	return n
}

// share reads percent.
func (b *brief) share(v *visit, path, text string) float64 {
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.wrong(v, path, "want_number")
	}
	return percent / 100
}

func (b *brief) wrong(v *visit, path, name string) {
	b.Problems = append(b.Problems, posthouse.Problem{Path: path, Message: say(name, v.zh)})
}

const (
	// maxPeople bounds a file of people that a browser sends, in bytes: longer ones go by the command, which can go on where it broke off.
	maxPeople = 256 << 20
	// untilTaken is how long a browser may take to send it.
	untilTaken = 10 * time.Minute
	maxPart    = 1024 // of a field of that form, in bytes
)

// takePeople imports a file of people into a campaign, as it comes: it is never held in memory.
func takePeople(v *visit) error {
	name := v.r.PathValue("name")
	v.r.Body = http.MaxBytesReader(v.w, v.whole, maxPeople)
	conn := http.NewResponseController(v.w)
	_, _ = conn.SetReadDeadline(time.Now().Add(untilTaken)), conn.SetWriteDeadline(time.Now().Add(2*untilTaken)) // what has none keeps the server's
	read, file, err := peopleIn(v.r)
	if err == nil {
		file, err = read.choose(v, name, file)
	}
	if err == nil {
		_, err = v.call().Campaigns.Import(v.ctx(), name, read.Part, file)
	}
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		err = posthouse.Invalid("the file is too long", problemAt("file", say("people_long", v.zh)))
	}
	if err != nil {
		return refuseCampaign(v, name, "file", &read, err)
	}
	return tookPeople(v, name)
}

// reading is how a file of people is to be read, as its form says, and as it shows to be.
type reading struct {
	client.Part
	Shown wire.PeoplePreview
}

// CutOff reports whether a cell that is shown holds a number of which a spreadsheet has cut off digits.
func (reading) CutOff(cell string) bool { return audience.CutOff(cell) }

// ahead is how much of a file is looked at before it is imported, in bytes; of a workbook all of it.
const ahead = 64 << 10

// choose refuses a workbook of several sheets of which the form names none, since what is stored of the wrong one cannot be taken back, and
// a file whose column of addresses neither it nor the form tells: the page shows what there is to choose from. It gives the file as it was.
func (r *reading) choose(v *visit, name string, file io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(file, ahead)
	head, _ := in.Peek(ahead) // less of a shorter one; what cannot be read the import tells
	book := audience.Workbook(head)
	if r.Address != "" && (r.Sheet != "" || !book) {
		return in, nil
	}
	if book {
		all, err := io.ReadAll(io.LimitReader(in, audience.MaxBook))
		if err != nil {
			return nil, err
		}
		head = all
	}
	seen, err := v.call().Campaigns.Preview(v.ctx(), name, r.Part, bytes.NewReader(head))
	switch {
	case err != nil: // an import says what is wrong with it
	case r.Sheet == "" && len(seen.Sheets) > 1:
		r.Shown = seen
		return nil, posthouse.Invalid("the file cannot be imported", problemAt("sheet", say("camp_which_sheet", v.zh)))
	case seen.Address == "" && len(seen.Columns) > 0:
		r.Shown = seen
		return nil, posthouse.Invalid("the file cannot be imported", problemAt("address", say("camp_which", v.zh)))
	}
	if book {
		return io.MultiReader(bytes.NewReader(head), in), nil
	}
	return in, nil
}

// previewPeople shows how a file would be read, by its beginning: nothing of it is kept.
func previewPeople(v *visit) error {
	name := v.r.PathValue("name")
	v.r.Body = http.MaxBytesReader(v.w, v.whole, maxPeople)
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Now().Add(untilTaken)) // what has none keeps the server's
	read, file, err := peopleIn(v.r)
	var seen wire.PeoplePreview
	if err == nil {
		seen, err = v.call().Campaigns.Preview(v.ctx(), name, read.Part, file)
	}
	if err != nil { // a look that finds a fault is no refused form
		return drawRefused(v, http.StatusOK, name, "file", &read, err)
	}
	m, err := marchOf(v, name)
	if err != nil {
		return err
	}
	read.Shown = seen
	m.Read = &read
	return v.show("campaign", "campaigns", m)
}

// untilFetched is how long people are read from elsewhere at most, as by the command.
const untilFetched = time.Hour

// queryPeople imports people from a database that the server's settings name, and followPeople those who follow the channel's account.
func queryPeople(v *visit) error {
	return fetchPeople(v, "query", func(name string) error {
		_, err := v.call().Campaigns.Query(withNote(v.ctx(), v.form("note")), name, wire.PeopleQuery{Database: v.form("database"), Query: v.form("query"), Address: v.form("address")})
		return err
	})
}

func followPeople(v *visit) error {
	return fetchPeople(v, "account", func(name string) error {
		_, err := v.call().Campaigns.Followers(withNote(v.ctx(), v.form("note")), name, wire.PeopleFollowing{Account: v.form("account")})
		return err
	})
}

func fetchPeople(v *visit, path string, fetch func(name string) error) error {
	name := v.r.PathValue("name")
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(untilFetched))
	if err := fetch(name); err != nil {
		return refuseCampaign(v, name, path, nil, err)
	}
	return tookPeople(v, name)
}

// tookPeople goes on to the campaign with the people who were imported.
func tookPeople(v *visit, name string) error {
	c, err := v.call().Campaigns.Get(v.ctx(), name)
	if err != nil {
		return err
	}
	ch, err := senderOf(v, c.Channel)
	if err != nil {
		return err
	}
	if c.Template != "" && !strings.HasPrefix(c.Template, ownTemplates) && formOf(ch.Driver) != "card" || !v.may(posthouse.ScopeSend, "campaigns.change") {
		return v.goTo(v.at("campaigns", name, "plan") + "?said=people_said")
	}
	return v.goTo(v.at("campaigns", name, "content") + "?said=people_content_said") // with its columns the text is written, and parameters are filled
}

// peopleIn reads the fields of the form up to the file, which comes last.
func peopleIn(r *http.Request) (p reading, file io.Reader, err error) {
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return p, nil, posthouse.Invalid("there is no file", problemAt("file", "is required"))
	}
	if err != nil {
		return p, nil, posthouse.Invalid("there is no file", problemAt("file", err.Error()))
	}
	p.Final = true
	for {
		one, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return p, nil, posthouse.Invalid("there is no file", problemAt("file", "is required"))
		}
		if err != nil {
			return p, nil, posthouse.Invalid("the form cannot be read", problemAt("file", err.Error()))
		}
		if one.FormName() == "file" {
			return p, one, nil
		}
		text, err := io.ReadAll(io.LimitReader(one, maxPart))
		if err != nil {
			return p, nil, err
		}
		switch value := strings.TrimSpace(string(text)); one.FormName() {
		case "encoding":
			p.Encoding = value
		case "address":
			p.Address = value
		case "delimiter":
			p.Delimiter = value
		case "sheet":
			p.Sheet, p.Shown.Sheet = value, value
		case "sheets": // so that another one can be chosen where this one is refused
			p.Shown.Sheets = append(p.Shown.Sheets, value)
		}
	}
}

// foresight is what the page of a campaign's plan shows.
type foresight struct {
	wire.Campaign
	Plan    wire.CampaignPlan
	Ready   bool // it can be tested and started
	Force   bool // it starts all the same
	Once    string
	Tested  string // the message of a test
	To      string
	Problem []posthouse.Problem
	channel posthouse.Channel
}

func showPlan(v *visit) error {
	f := foresight{}
	return f.draw(v, http.StatusOK)
}

// draw reads what would happen. It looks at every member, which for millions takes seconds.
func (f *foresight) draw(v *visit, status int) (err error) {
	name := v.r.PathValue("name")
	if f.Campaign, err = v.call().Campaigns.Get(v.ctx(), name); err != nil {
		return err
	}
	if f.channel, err = senderOf(v, f.Channel); err != nil {
		return err
	}
	if f.Plan, err = v.call().Campaigns.Plan(v.ctx(), name); err != nil {
		return err
	}
	f.Ready, f.Force, f.Once = f.State == posthouse.CampaignReady || f.State == posthouse.CampaignScheduled, len(f.Plan.Problems)+len(f.Plan.Missing) > 0, posthouse.NewID()
	return v.draw(status, "plan", "campaigns", f)
}

// Lacking are the variables that some records lack, in order.
func (f *foresight) Lacking() []string { return slices.Sorted(maps.Keys(f.Plan.Missing)) }

// testCampaign sends the content to a few addresses, once however often the button is pressed.
func testCampaign(v *visit) error {
	name := v.r.PathValue("name")
	f := foresight{To: v.form("to")}
	t := wire.CampaignTest{To: strings.Fields(f.To)}
	sent, err := v.call().Campaigns.TestOnce(withNote(v.ctx(), v.form("note")), v.form("once"), name, t)
	if err == nil {
		f.Tested = sent.ID
		return f.draw(v, http.StatusOK)
	}
	if f.Problem = refusalOf(err, "to"); f.Problem == nil {
		return err
	}
	return f.draw(v, http.StatusUnprocessableEntity)
}

// saveMembers writes every member and where it stands as a CSV without formulas.
func saveMembers(v *visit) error {
	name, of := v.r.PathValue("name"), client.MemberFilter{Outcome: v.query("outcome"), Code: v.query("code")}
	w := downloadOf(v, name+"-"+cmp.Or(of.Outcome, "members")+".csv")
	return w.end(v.call().Campaigns.ExportOf(w.ctx(), w, name, "csv", of))
}

// saveRefused writes the records that could not be read.
func saveRefused(v *visit) error {
	name := v.r.PathValue("name")
	w := downloadOf(v, name+"-refused.csv")
	return w.end(v.call().Campaigns.Refused(w.ctx(), w, name, "csv"))
}
