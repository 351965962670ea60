package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/proof"
	"github.com/posthouse/posthouse/wire"
)

// proofFlags are those of the command that makes a proof.
type proofFlags struct {
	shell.ProofOptions
	reveal string
}

func proofCommand(sh *shell.Shell) *cobra.Command {
	var f proofFlags
	cmd := sh.Calling(shell.Group("proof MESSAGE", "Export a signed statement of what became of a message, or check one", proofVerify(sh), proofKeys(sh)))
	cmd.Long = `Export a signed statement of what became of a message: what was to be said to whom, each attempt, receipt and
acknowledgement with its time, and what the hash chain says of them. Anybody can check it without this server, with
openssl or with posthouse proof verify. The audit log keeps who has exported it.`
	cmd.Example = `  posthouse proof 01JB2Z6N8Q4T7V0X3Y5W9A0000 --output proof.json --page proof.html
  posthouse proof 01JB2Z6N8Q4T7V0X3Y5W9A0000 --person li.na
  posthouse proof verify proof.json --public-key keys.json`
	flags := cmd.Flags()
	f.AddFlags(flags)
	flags.StringVar(&f.reveal, "reveal", "", "show the hidden content of a sensitive message, for this `REASON`: it stands in the audit log")
	group := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || !posthouse.ValidID(args[0]) {
			return group(cmd, args)
		}
		if err := shell.Takes("MESSAGE")(cmd, args); err != nil {
			return err
		}
		return sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			return makeProof(ctx, sh, c, args[0], f)
		})(cmd, args)
	}
	return cmd
}

func makeProof(ctx context.Context, sh *shell.Shell, c *client.Client, message string, f proofFlags) error {
	if err := f.Check(); err != nil {
		return err
	}
	ask := c.Messages.Proof
	if f.reveal != "" {
		ask = func(ctx context.Context, id, person string) (wire.Proof, error) {
			return c.Messages.ProofRevealed(ctx, id, person, f.reveal)
		}
	}
	made, err := ask(ctx, message, f.Person)
	if err != nil {
		return f.Explain(err)
	}
	return f.Write(sh, made, message)
}

// proofVerified is what a proof that fits says.
type proofVerified struct {
	Message     string           `json:"message"`
	Tenant      string           `json:"tenant"`
	Person      string           `json:"person,omitempty"`
	MadeAt      time.Time        `json:"made_at"`
	KeyID       string           `json:"key_id"`
	Fingerprint string           `json:"fingerprint"`
	KnownKey    bool             `json:"known_key"`
	Chain       []proofSealed    `json:"chain"`
	Notes       []wire.ProofNote `json:"notes"`
	// Page says how the page stands to the statement: same, changed or another_version. Empty for a file that is no page.
	Page string `json:"page,omitempty"`
	// Notifications and Deliveries are what the statement says of each person.
	Notifications []proofTold    `json:"notifications"`
	Deliveries    []proofReached `json:"deliveries"`
}

type proofTold struct {
	ID       string                      `json:"id"`
	To       []string                    `json:"to"`
	State    posthouse.NotificationState `json:"state"`
	Reason   string                      `json:"reason,omitempty"`
	ToldUser string                      `json:"told_user,omitempty"`
	Ack      *posthouse.Acknowledgement  `json:"acknowledgement,omitempty"`
}

type proofReached struct {
	ID      string          `json:"id"`
	User    string          `json:"user,omitempty"`
	Address string          `json:"address,omitempty"`
	Channel string          `json:"channel"`
	State   posthouse.State `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	At      time.Time       `json:"at"`
}

// proofSealed is what the hash chain says of a message, or of a notification's acknowledgement.
type proofSealed struct {
	Message      string               `json:"message"`
	Notification string               `json:"notification,omitempty"`
	State        wire.ProofChainState `json:"state"`
	Link         string               `json:"link,omitempty"`
}

func sealedOf(message, notification string, c *wire.ProofChain) proofSealed {
	one := proofSealed{Message: message, Notification: notification, State: c.State}
	if l := c.Link; l != nil {
		one.Link = fmt.Sprintf("%d:%s", l.Seq, l.Hash)
	}
	return one
}

func proofVerify(sh *shell.Shell) *cobra.Command {
	var keys string
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a proof or its page without a server: the signature, what the page shows, and what can be computed again of the hash chain",
		Long: `Check a proof or its page without a server. The signature is checked, and what can be computed again of the hash
chain. A page is drawn anew of its statement and compared byte by byte: one that shows anything else is refused, and so
is one that another version has drawn, since nothing says what it should show. What the statement says of each person
is printed in each case.`,
		Example: "  posthouse proof keys --json > keys.json\n  posthouse proof verify proof.json --public-key keys.json",
		Args:    shell.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := sh.ReadFile(args[0])
			if err != nil {
				return err
			}
			var known []byte
			if keys != "" {
				if known, err = sh.ReadFile(keys); err != nil {
					return err
				}
			}
			found, err := proof.Check(file, known)
			unlike := errors.Is(err, proof.ErrPageChanged) || errors.Is(err, proof.ErrPageOther)
			if err != nil && !unlike {
				return fmt.Errorf("%s does not prove anything: %w", args[0], err)
			}
			if shown := showVerified(sh, found, err); shown != nil {
				return shown
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&keys, "public-key", "", "the `FILE` with the public keys that you trust, PEM or what posthouse proof keys --json prints (default the key in the proof, which anybody could have put there)")
	return cmd
}

func showVerified(sh *shell.Shell, found proof.Checked, unlike error) error {
	s := found.Statement
	out := proofVerified{
		Message: s.Message.ID, Tenant: s.Tenant, Person: s.Person, MadeAt: s.MadeAt, KeyID: found.Key.ID, Fingerprint: found.Key.Fingerprint, KnownKey: found.Known,
		Chain: []proofSealed{}, Notes: s.Notes, Page: pageWord(found.Page, unlike), Notifications: []proofTold{}, Deliveries: []proofReached{},
	}
	for i := range s.Notifications {
		out.Notifications = append(out.Notifications, toldOf(&s.Notifications[i]))
	}
	for i := range s.Acks {
		out.Chain = append(out.Chain, sealedOf(s.Message.ID, s.Acks[i].Notification, &s.Acks[i].Chain))
	}
	for _, p := range s.Parts {
		out.Chain = append(out.Chain, sealedOf(p.ID, "", &p.Chain))
		for i := range p.Deliveries {
			d := &p.Deliveries[i].Delivery
			out.Deliveries = append(out.Deliveries, proofReached{d.ID, d.User, d.Address, d.Channel, d.State, d.Reason, proof.Since(&p.Deliveries[i])})
		}
	}
	return sh.Show(out, func() {
		sh.Fields([][2]string{{"message", out.Message}, {"tenant", out.Tenant}, {"recipient", cmp.Or(out.Person, sh.Text("all"))}, {"title", s.Message.Content.Title}, {"text", s.Message.Content.Text}, {"stated at", out.MadeAt.Format(time.RFC3339)}, {"signed by", out.KeyID}, {"fingerprint", out.Fingerprint}}...)
		printStated(sh, &out)
		for _, one := range out.Chain {
			stands := strings.TrimSpace(string(one.State) + " " + one.Link)
			if one.Notification != "" {
				sh.Printf("acknowledgement of %s: %s\n", one.Notification, stands)
			} else {
				sh.Printf("message %s: %s\n", one.Message, stands)
			}
		}
		for _, n := range out.Notes {
			sh.Printf("note: %s\n", sh.Either(proof.Note(n)))
		}
		if found.Known {
			sh.Printf("The signature is good, by a key that you gave.\n")
		} else {
			sh.Printf("The signature fits the key in the proof. Compare the fingerprint with the one that you know from elsewhere, or give the key with --public-key.\n")
		}
		if out.Page == pageSame {
			sh.Printf("The page shows what the statement says, and nothing else.\n")
		}
	})
}

// How a page stands to its statement.
const (
	pageSame    = "same"
	pageChanged = "changed"
	pageOther   = "another_version"
)

func pageWord(page bool, unlike error) string {
	switch {
	case errors.Is(unlike, proof.ErrPageChanged):
		return pageChanged
	case errors.Is(unlike, proof.ErrPageOther):
		return pageOther
	case page:
		return pageSame
	}
	return ""
}

func toldOf(n *posthouse.Notification) proofTold {
	out := proofTold{ID: n.ID, To: []string{}, State: n.State, Reason: n.Reason, ToldUser: n.ToldUser}
	for _, to := range n.To {
		out.To = append(out.To, cmp.Or(to.User, to.Address))
	}
	if n.Ack != nil {
		out.Ack = &posthouse.Acknowledgement{By: n.Ack.By, Via: n.Ack.Via, At: n.Ack.At, Evidence: n.Ack.Evidence}
	}
	return out
}

// another stands for a person whom a statement of one recipient alone does not name.
const another = "another recipient"

// printStated prints what the statement says of each person.
func printStated(sh *shell.Shell, out *proofVerified) {
	var rows [][]string
	for _, n := range out.Notifications {
		ack := ""
		if n.Ack != nil {
			ack = sh.Text("by %s, %s, via %s", cmp.Or(n.Ack.By, sh.Text(another)), n.Ack.At.Format(time.RFC3339), n.Ack.Via)
		}
		reason := n.Reason
		if reason == "escalated" {
			reason += sh.Text(" to %s", cmp.Or(n.ToldUser, sh.Text(another)))
		}
		rows = append(rows, []string{n.ID, shell.Words(n.To), string(n.State), reason, ack})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Notification", "Whom", "State", "Reason", "Acknowledged"}, rows)
	}
	rows = nil
	for _, d := range out.Deliveries {
		rows = append(rows, []string{d.ID, cmp.Or(d.User, d.Address), d.Address, d.Channel, string(d.State), d.Reason, d.At.Format(time.RFC3339)})
	}
	if len(rows) > 0 {
		sh.Table([]string{"Delivery", "Whom", "Address", "Channel", "State", "Reason", "At"}, rows)
	}
}

func proofKeys(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "keys", Short: "List the public keys that proofs are checked with", Args: shell.Takes(),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Messages.ProofKeys(ctx)
			if err != nil {
				return err
			}
			return sh.Show(wire.Page[wire.ProofKey]{Items: list}, func() {
				var rows [][]string
				for _, k := range list {
					now := ""
					if k.Current {
						now = sh.Text("signs now")
					}
					rows = append(rows, []string{k.ID, sh.At(k.Since), now, k.Fingerprint})
				}
				sh.Table([]string{"Key", "Since", "", "Fingerprint"}, rows)
			})
		}),
	}
}
