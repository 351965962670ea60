package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// Options says how the demo runs. Out is required.
type Options struct {
	// Addr and SimulatorAddr are where server and simulator listen. Default to free ports of 127.0.0.1.
	Addr, SimulatorAddr string
	// Dir holds the database. Defaults to a temporary folder that goes with the demo.
	Dir string
	// Once ends the demo when everything is settled, instead of when its context ends.
	Once bool
	// JSON prints the result as JSON and nothing else.
	JSON bool
	// Lang is "en" or "zh". Defaults to en.
	Lang string
	// Terminal colours the table and redraws the line of progress.
	Terminal bool
	Out      io.Writer
	Version  string
	// Table sets rows in columns below their head. Defaults to tabs between the cells.
	Table func(head []string, rows [][]string) string
	// Command is how the program was called, for what is shown to be tried. Defaults to posthouse.
	Command string
}

// patience is how long deliveries may take to settle.
const patience = 60 * time.Second

// Report is what became of the demo's messages.
type Report struct {
	Rows []Row `json:"rows"`
	// Outcomes counts the rows by outcome.
	Outcomes map[string]int `json:"outcomes"`
	// Repeats are the sends that made no second message.
	Repeats []Repeat `json:"repeats"`
	// Arrivals, Refused and Duplicates are what the simulator counted.
	Arrivals   int64 `json:"arrivals"`
	Refused    int64 `json:"refused"`
	Duplicates int64 `json:"duplicates"`
	// Campaign is what became of the people of the demo's campaign.
	Campaign wire.CampaignProgress `json:"campaign"`
	// Alarm is what became of a message that followed a route.
	Alarm Alarm `json:"alarm"`
	// Digest is what became of many alerts that left as one post.
	Digest posthouse.Collection `json:"digest"`
	// SMS are those that the simulator's phones were told to send.
	SMS []SMS `json:"sms"`
	// Fleet is how fast the accounts of a channel went, as they found it out.
	Fleet   []AccountRow `json:"fleet"`
	Seconds float64      `json:"seconds"`
	Settled bool         `json:"settled"`
	Places  Places       `json:"places,omitzero"`
}

// Places are the addresses to go on from.
type Places struct {
	API       string `json:"api"`
	Console   string `json:"console"` // a link that signs in once
	Docs      string `json:"docs"`
	Metrics   string `json:"metrics"`
	Simulator string `json:"simulator"`
	Phones    string `json:"phones"`
	Key       string `json:"api_key"`
	Log       string `json:"log,omitempty"`
	// SMSUser and SMSPassword are the SMS front door's.
	SMSUser     string `json:"sms_user"`
	SMSPassword string `json:"sms_password"`
}

// Run plays the demo. Its error names the deliveries that are not settled in time.
func Run(ctx context.Context, o Options) (err error) {
	h, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	o.Command = cmp.Or(o.Command, "posthouse")
	if o.Table == nil {
		o.Table = tabbed
	}
	say := newVoice(o)
	say.line(say.words.opened, h.places.API, h.places.Simulator)
	c, err := client.New(client.Options{URL: h.places.API, Key: h.places.Key})
	if err != nil {
		return err
	}
	link, err := c.People.Link(ctx, "admin")
	if err != nil {
		return err
	}
	h.places.Console = h.places.API + link.Path
	if err := furnish(ctx, c, h.provided); err != nil {
		return err
	}
	say.line(say.words.furnished, len(channels(h.provided)))
	if err := h.startPhones(ctx, c); err != nil {
		return err
	}
	if err := hearsBack(ctx, c, h.simulator, h.places.API); err != nil {
		return err
	}
	alarm, err := startAlarm(ctx, c, h.provided)
	if err != nil {
		return err
	}
	if err := startDigest(ctx, c); err != nil {
		return err
	}
	report, settleErr := play(ctx, &stage{client: c, api: h.places.API, door: h.door}, say)
	if settleErr != nil && len(report.Rows) == 0 {
		return settleErr
	}
	if settleErr == nil {
		if report.Alarm, err = takeNote(ctx, c, h.simulator, alarm); err != nil {
			return err
		}
		if report.Digest, err = awaitDigest(ctx, c); err != nil {
			return err
		}
	}
	totals := h.simulator.Totals()
	report.Arrivals, report.Refused, report.Duplicates = totals.Arrivals, totals.Refused, totals.Duplicates
	report.SMS = onPhones(h.simulator.Phones())
	if settleErr == nil {
		say.line(say.words.fleet, fleetMessages, fleetAccounts)
		if report.Fleet, err = playFleet(ctx, c, h.simulator); err != nil {
			return err
		}
	}
	if !o.Once { // else they are gone when somebody reads of them
		report.Places = h.places
	}
	if err := say.show(report, h.printed.take()); err != nil {
		return err
	}
	if o.Once || settleErr != nil {
		return settleErr
	}
	say.stay(h.places)
	h.printed.live(o.Out)
	<-ctx.Done()
	return nil
}

// play sends everything and waits until all of it is settled.
func play(ctx context.Context, s *stage, say *voice) (Report, error) {
	started := time.Now()
	campaign, err := startCampaign(ctx, s.client)
	if err != nil {
		return Report{}, err
	}
	for _, sc := range scenes {
		if err := sc.play(ctx, s); err != nil {
			return Report{}, fmt.Errorf("send %q: %w", sc.en, err)
		}
		for ; s.claimed < len(s.sent); s.claimed++ {
			s.sent[s.claimed].scene = sc
		}
	}
	say.line(say.words.sent, len(s.sent))
	rows, err := settle(ctx, s, say)
	people, late := awaitCampaign(ctx, s.client, campaign)
	err = errors.Join(err, late)
	report := Report{Rows: rows, Campaign: people, Outcomes: map[string]int{}, Repeats: s.repeats, Settled: err == nil, Seconds: time.Since(started).Seconds()}
	for _, r := range rows {
		report.Outcomes[r.Outcome]++
	}
	return report, err
}

func tabbed(head []string, rows [][]string) string {
	var out strings.Builder
	for _, row := range append([][]string{head}, rows...) {
		out.WriteString(strings.Join(row, "\t") + "\n")
	}
	return out.String()
}

// printJSON prints a value, indented.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// unsettled is the error for deliveries that took too long.
func unsettled(rows []Row) error {
	var open []string
	for _, r := range rows {
		if !r.State.Settled(r.policy) {
			open = append(open, fmt.Sprintf("%s to %s over %s is %s (%s)", r.Delivery, r.Recipient, r.Channel, r.State, r.Why))
		}
	}
	e := posthouse.Error{Code: posthouse.CodeUnavailable, Message: fmt.Sprintf("%d of %d deliveries are not settled after %s", len(open), len(rows), patience)}
	for _, line := range open {
		e.Problems = append(e.Problems, posthouse.Problem{Path: "delivery", Message: line})
	}
	return &e
}
