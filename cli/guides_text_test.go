package cli

import (
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/cli/columns"
)

// A server that a page starts is started where nobody listens, and beside the shell, where the page has it in the foreground:
// its reader has a second terminal.
var foreground = regexp.MustCompile(`(?m)^( *posthouse serve(?: [^&\n#]*[^&\n# ])?)( *#.*)?$`)

// ours is a command with our addresses and ids in place of the guide's.
func (r *guideReader) ours(command string) string {
	for theirs, mine := range r.ids {
		command = strings.ReplaceAll(command, theirs, mine)
	}
	for theirs, mine := range r.names {
		command = strings.ReplaceAll(command, theirs, mine)
	}
	return foreground.ReplaceAllString(command, "$1 >>another-terminal 2>&1 &")
}

// terminals are commands in parts that end with what is in the background.
func terminals(command string) []string {
	var out []string
	part := ""
	for line := range strings.Lines(command) {
		part += line
		if strings.HasSuffix(strings.TrimSpace(line), "&") {
			out = append(out, part)
			part = ""
		}
	}
	if strings.TrimSpace(part) != "" {
		out = append(out, part)
	}
	return out
}

// theirs is what was printed with the guide's addresses and ids in place of ours.
func (r *guideReader) theirs(printed string) string {
	for theirs, mine := range r.names {
		if strings.Contains(theirs, "/send") {
			printed = strings.ReplaceAll(printed, mine, theirs) // before the address it begins with
		}
	}
	for theirs, mine := range r.names {
		printed = strings.ReplaceAll(printed, mine, theirs)
	}
	for theirs, mine := range r.ids {
		printed = strings.ReplaceAll(printed, mine, theirs)
	}
	return strings.TrimLeft(printed, "\n")
}

// learn notes which ids and keys of ours stand for those of the guide.
func (r *guideReader) learn(want, got string) {
	for _, kind := range []*regexp.Regexp{idText, keyText} {
		theirs, mine := kind.FindAllString(want, -1), kind.FindAllString(got, -1)
		for i := range min(len(theirs), len(mine)) {
			r.ids[theirs[i]] = mine[i]
		}
	}
}

// mended is the page with what was printed in place of what it shows.
func (r *guideReader) mended(page string) string {
	slices.SortFunc(r.printed, func(a, b typedStep) int { return b.at - a.at })
	for _, p := range r.printed {
		page = page[:p.at] + strings.TrimRight(p.command, "\n") + "\n" + page[p.at+len(p.want):]
	}
	return page
}

var (
	refText     = regexp.MustCompile(`\b(dt|ty|zh|oa|sm)-[0-9a-z]+-[0-9a-z]+\b`)
	clockText   = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:\d\d))?`)
	todayText   = regexp.MustCompile(`\b20\d\d-\d\d-\d\d, \w+ 周.`)
	versionText = regexp.MustCompile(`\bposthouse \S+ serves`)
	linkText    = regexp.MustCompile(`\blink=[A-Za-z0-9_-]{43}`)
	leaseText   = regexp.MustCompile(`"lease_ms":\d+`)
	// What a command has sent that stands in the same block is on its way, or there already, where the next one looks.
	onTheWayText = regexp.MustCompile(`\bsending\b`)
	blankText    = regexp.MustCompile(`[ \n]+`)
)

// still is a text without what differs from run to run: ids, times and the width of columns. JSON is compared as JSON. Where
// the page has started programs in the background, whose lines come when they come, the order of lines does not count.
func (r *guideReader) still(text string) string {
	for _, change := range []struct {
		from *regexp.Regexp
		to   string
	}{
		{idText, "ID"}, {keyText, "KEY"}, {refText, "REF"}, {clockText, "TIME"}, {todayText, "TODAY"}, {versionText, "posthouse VERSION serves"},
		{linkText, "LINK"}, {leaseText, `"lease_ms":0`}, {onTheWayText, "sent"},
	} {
		text = change.from.ReplaceAllString(text, change.to)
	}
	if pretty, ok := canonical(text); ok {
		return pretty
	}
	var out []string
	for line := range strings.Lines(text) {
		if pretty, ok := canonical(line); ok {
			line = pretty
		}
		if line = strings.TrimSpace(blankText.ReplaceAllString(line, " ")); line != "" {
			out = append(out, line)
		}
	}
	if r.guide.starts {
		slices.Sort(out)
	}
	return strings.Join(out, "\n") + "\n"
}

func canonical(text string) (string, bool) {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return "", false
	}
	pretty, err := json.MarshalIndent(value, "", " ")
	return string(pretty), err == nil
}

var nameOf = regexp.MustCompile(`(?m)^name: (\S+)$`)

// setChannel is what a reader does with a channel's file.
func (r *guideReader) setChannel(b block) {
	r.Helper()
	name := nameOf.FindStringSubmatch(b.text)
	if name == nil {
		r.Errorf("line %d: this is no channel's file:\n%s", b.line, b.text)
		return
	}
	r.write(name[1]+".yaml", b.text)
	if out, code := r.typeIn("posthouse channel set -f " + name[1] + ".yaml"); code != 0 {
		r.Errorf("line %d: %s", b.line, out)
	}
}

// query asks the server's database, and compares where the page shows what it answers.
func (r *guideReader) query(b block, s typedStep) {
	r.Helper()
	if strings.HasPrefix(b.text, "GRANT ") {
		return // SQLite has no users: package outbox tries these on servers that have
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(r.dsn, "sqlite:")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	r.idle()
	printed := ""
	for statement := range strings.SplitSeq(r.ours(b.text), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		rows, err := db.QueryContext(r.Context(), statement)
		if err != nil {
			r.Errorf("line %d: %s\n%v", b.line, statement, err)
			return
		}
		printed += r.tableOf(rows)
	}
	r.compare(b, s, printed)
}

// tableOf prints rows as the commands of databases do.
func (r *guideReader) tableOf(rows *sql.Rows) string {
	r.Helper()
	defer rows.Close()
	head, err := rows.Columns()
	if err != nil {
		r.Fatal(err)
	}
	var table [][]string
	for rows.Next() {
		cells, places := make([]sql.NullString, len(head)), make([]any, len(head))
		for i := range cells {
			places[i] = &cells[i]
		}
		if err := rows.Scan(places...); err != nil {
			r.Fatal(err)
		}
		row := make([]string, len(head))
		for i, cell := range cells {
			row[i] = cell.String
		}
		table = append(table, row)
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return columns.Text(head, table, columns.Options{})
}
