package digest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/expression"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/render"
)

// Bounds of a digest.
const (
	leastWindow = time.Second
	mostWindow  = 31 * 24 * time.Hour
	leastMax    = 2
	mostMax     = 100
	maxNote     = 1000
	maxLine     = 1000
	maxBy       = 255 // of the value, in bytes
)

// WithDefaults fills in what a digest leaves out.
func WithDefaults(d posthouse.Digest) posthouse.Digest {
	if d.Max == 0 {
		d.Max = mostMax
	}
	if d.By == "" {
		d.By = "kind"
	}
	return d
}

// Check says what is wrong with a digest whose defaults are filled in, as far as it alone can tell.
func Check(d *posthouse.Digest, p *draft.Problems) {
	switch w := d.Window.Std(); {
	case w == 0 && d.Cron == "":
		p.Add("window", `is missing or 0s: want how long messages are gathered, %s to %s, such as "10m"; or a cron, such as "0 18 * * *"`, posthouse.Duration(leastWindow), posthouse.Duration(mostWindow))
	case w != 0 && d.Cron != "":
		p.Add("cron", "stands beside a window: give one of them")
	case w != 0 && (w < leastWindow || w > mostWindow):
		p.Add("window", "is %s: want %s to %s", d.Window, posthouse.Duration(leastWindow), posthouse.Duration(mostWindow))
	}
	if zone, err := time.LoadLocation(d.TimeZone); err != nil || zone == time.Local {
		p.Add("time_zone", "is %.80q: want a name such as Asia/Shanghai", d.TimeZone)
	} else if d.Cron != "" {
		if err := remind.CheckCron(d.Cron, zone, time.Now()); err != nil {
			p.Add("cron", "%v", err)
		}
	}
	if d.TimeZone != "" && d.Cron == "" {
		p.Add("time_zone", "needs a cron, which it is for")
	}
	if d.Max < leastMax || d.Max > mostMax {
		p.Add("max", "is %d: want %d to %d", d.Max, leastMax, mostMax)
	}
	if len(d.Note) > maxNote {
		p.Add("note", "has %d bytes: at most %d are allowed", len(d.Note), maxNote)
	}
	if _, err := keys.Compile(d.By); err != nil {
		p.Add("by", "%v", err)
	} else if i := slices.IndexFunc(expression.Names(d.By), func(name string) bool { return !slices.Contains(names, name) }); i >= 0 {
		p.Add("by", `asks for %.60q, which no message has: want %s, such as payload.cluster`, expression.Names(d.By)[i], strings.Join(names, ", "))
	}
	p.Word("template", d.Template, draft.MaxWord)
	if p.Text("line", d.Line, maxLine); d.Line != "" {
		if _, err := render.Parse(d.Line); err != nil {
			p.Add("line", "%v", err)
		}
	}
}

// names are those that the By of a digest may use.
var names = []string{"kind", "ref", "priority", "source", "payload", "user", "address", "type"}

// keys are what the By of a digest is made of.
var keys = expression.Rules{
	Noun: "expression", Want: "kind, ref, priority, source, payload, user, address, type, and, or, not, in, ?:, + and comparisons",
	Bytes: 1000, Nodes: 200, Calls: []string{"len", "lower", "upper", "trim"},
	Refuse: func(n ast.Node) (string, bool) {
		switch n := n.(type) {
		case *ast.UnaryNode:
			return refused(n.Operator, "not", "!", "-")
		case *ast.BinaryNode:
			return refused(n.Operator, "==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "in", "contains", "startsWith", "endsWith", "+", "%", "??")
		case *ast.ArrayNode, *ast.ConditionalNode:
			return "", true
		}
		return "", false
	},
	Options: []expr.Option{expr.Env(asked(&posthouse.Message{}, posthouse.Recipient{}, map[string]any{}))},
}

// refused says that an operator is none of those allowed.
func refused(operator string, allowed ...string) (string, bool) {
	for _, a := range allowed {
		if a == operator {
			return "", true
		}
	}
	return "the operator " + operator, true
}

// valueOf is the value of a digest's expression for a message and its recipient.
func valueOf(by string, m *posthouse.Message, to posthouse.Recipient) (string, error) {
	program, err := keys.Compile(by)
	if err != nil {
		return "", err
	}
	payload := map[string]any{}
	if len(m.Payload) > 0 {
		if err := json.Unmarshal(m.Payload, &payload); err != nil {
			return "", fmt.Errorf("read the payload: %w", err)
		}
	}
	out, err := expression.Run(program, asked(m, to, payload))
	if err != nil {
		return "", fmt.Errorf("the expression %q fails: %w", by, err)
	}
	value := ""
	if out != nil {
		value = fmt.Sprint(out)
	}
	if len(value) > maxBy {
		return "", fmt.Errorf("the expression %q has a value of %d bytes: at most %d are allowed", by, len(value), maxBy)
	}
	return value, nil
}

// asked are the names that an expression knows, and what they are.
func asked(m *posthouse.Message, to posthouse.Recipient, payload map[string]any) map[string]any {
	return map[string]any{
		"kind": m.Kind, "ref": m.Ref, "priority": string(m.Priority), "source": m.Source, "payload": payload,
		"user": to.User, "address": to.Address, "type": to.Type,
	}
}

// keyOf stands for all that the deliveries of a collection have in common.
func keyOf(d *posthouse.Digest, channel string, to posthouse.Recipient, by string) string {
	text := strings.Join([]string{d.Name, channel, to.User, to.Address, by}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return base32.HexEncoding.EncodeToString(sum[:20])
}

// moment is when a collection leaves that opens now.
func moment(d *posthouse.Digest, now time.Time) (time.Time, error) {
	if d.Cron == "" {
		return now.Add(d.Window.Std()).Truncate(time.Microsecond), nil
	}
	zone, err := time.LoadLocation(d.TimeZone)
	if err != nil {
		return now, err
	}
	next, err := remind.Cron(d.Cron, zone)
	if err != nil {
		return now, err
	}
	at, found := next(now)
	if !found {
		return now, fmt.Errorf("the cron %q has no moment to come", d.Cron)
	}
	return at.Truncate(time.Microsecond), nil
}
