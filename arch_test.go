package posthouse_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/posthouse/posthouse"

// floor is where a package stands in the house: it imports only packages of a
// lower layer, and those beside it that are named.
type floor struct {
	layer  int
	beside []string // packages of its own layer it may import
	never  []string // packages of a lower layer it may not import
	tests  bool     // only tests and test support may import it
}

// floors names every package of the module, "." the root and "/*" any folder
// right below. A package that is listed by its own name is not covered by a "/*".
var floors = map[string]floor{
	// 0: the vocabulary, standard library only.
	".": {layer: 0},

	// The wire's types, made of the vocabulary alone.
	"wire": {layer: 0, beside: []string{".", "workflow"}},

	// What happens to tasks, in the words of one document, and as senders write it.
	"workflow":          {layer: 0, beside: []string{"."}},
	"internal/taskbody": {layer: 0, beside: []string{"wire", "workflow"}},

	// Ids that can be told again, the table of states, and limits as people type them.
	"internal/ids":        {layer: 0, beside: []string{"."}},
	"internal/transition": {layer: 0, beside: []string{"."}},
	"internal/limittext":  {layer: 0, beside: []string{"."}},

	// The guard of a CSV's cells, for all who write one.
	"internal/cell": {layer: 0},

	// Words of commands that are shown to be copied.
	"internal/shellword": {layer: 0},
	"internal/catalog":   {layer: 0},

	// 1: the parts that know nothing of each other. work is what engine and store
	// hand to one another, so that the engine need not know the store.
	"presets":                  {layer: 1}, // what is known of providers, as data
	"channel":                  {layer: 1},
	"channel/internal/access":  {layer: 1, beside: []string{"channel"}}, // what drivers of one kind share
	"channel/internal/batch":   {layer: 1, beside: []string{"channel"}},
	"channel/internal/errcode": {layer: 1, beside: []string{"channel"}},
	"channel/internal/clock":   {layer: 1, beside: []string{"channel"}},
	"channel/internal/files":   {layer: 1, beside: []string{"channel", "channel/internal/access"}},
	"channel/internal/mailbox": {layer: 1},
	"channel/internal/push":    {layer: 1, beside: []string{"channel", "channel/internal/errcode"}},
	"channel/internal/signed":  {layer: 1, beside: []string{"channel"}},
	"channel/internal/trusted": {layer: 1, tests: true},
	"rule":                     {layer: 1},
	"internal/work":            {layer: 1},
	"internal/draft":           {layer: 1}, // what engine and outbox both check
	"internal/retry":           {layer: 1},
	"internal/hook":            {layer: 1}, // signs what is posted to others
	"internal/rate":            {layer: 1},
	"internal/life":            {layer: 1}, // until when roles run, and by which clock
	"internal/metrics":         {layer: 1, beside: []string{"internal/work"}},
	"internal/limit":           {layer: 1},
	"internal/quiet":           {layer: 1, beside: []string{"internal/life", "internal/rate"}}, // when people are not to be disturbed
	"internal/render":          {layer: 1},
	"internal/table":           {layer: 1, beside: []string{"channel"}}, // lists as CSV
	"internal/phone":           {layer: 1},
	"internal/fronttext":       {layer: 1}, // the settings of fronts as people type them
	"internal/expression":      {layer: 1}, // what users write to choose and to fill
	"internal/sms":             {layer: 1, beside: []string{"internal/render"}},
	"internal/secret":          {layer: 1},
	"internal/verify":          {layer: 1, beside: []string{"internal/verify/packed", "internal/verify/scan", "internal/verify/words"}},
	"internal/verify/packed":   {layer: 1},
	"internal/verify/scan":     {layer: 1},
	"internal/verify/words":    {layer: 1},
	"internal/archive":         {layer: 1}, // what is kept of settled messages in files
	"internal/lockfile":        {layer: 1}, // keeps a file for one process
	"internal/store":           {layer: 1, beside: []string{"internal/work", "internal/store/*"}},
	"internal/store/sqldb":     {layer: 1, beside: []string{"internal/lockfile"}}, // connections, and what differs between databases
	"internal/store/schema":    {layer: 1, beside: []string{"internal/store/sqldb"}},
	"internal/store/layout":    {layer: 1, beside: []string{"internal/work", "internal/store/sqldb"}},                                                   // what stands in the rows of messages and deliveries
	"internal/store/partition": {layer: 1, beside: []string{"internal/work", "internal/store/sqldb", "internal/store/schema", "internal/store/layout"}}, // what is settled, by time
	"internal/store/reading":   {layer: 1, beside: []string{"internal/work", "internal/store/sqldb", "internal/store/layout", "internal/store/page", "internal/store/partition"}},
	"internal/store/page":      {layer: 1}, // pages of lists, and their cursors
	"internal/store/registry":  {layer: 1, beside: []string{"internal/work", "internal/store/sqldb", "internal/store/page"}},
	"internal/store/campaigns": {layer: 1, beside: []string{"internal/work", "internal/store/sqldb", "internal/store/page"}},
	"internal/store/foreign":   {layer: 1, beside: []string{"internal/work", "internal/store/sqldb"}},
	"internal/store/lksms":     {layer: 1, beside: []string{"internal/work", "internal/store/sqldb"}},
	"internal/store/sqltest":   {layer: 2, tests: true},
	"internal/store/storetest": {layer: 2, tests: true},
	"internal/remind":          {layer: 1, beside: []string{"internal/work", "internal/draft"}},
	"internal/dbtest":          {layer: 1, tests: true},
	"internal/machine":         {layer: 1, tests: true},
	"client":                   {layer: 1},

	// 2: what is built from one part each. Drivers never import each other; builtin
	// is the table that names them all. The engine declares the store methods it needs.
	"channel/*":                {layer: 2},
	"channel/builtin":          {layer: 2, beside: []string{"channel/*"}, never: []string{"channel/channeltest"}},
	"internal/preset":          {layer: 2, beside: []string{"channel/httpapi"}, never: []string{"internal/store"}}, // channels made of it
	"channel/channeltest":      {layer: 2, tests: true},
	"internal/limit/limittest": {layer: 2, tests: true},
	"outbox":                   {layer: 2},
	"outbox/*":                 {layer: 2, beside: []string{"outbox"}},
	"internal/flow":            {layer: 2, never: []string{"internal/store"}},                                                          // events of tasks become messages
	"internal/route":           {layer: 2, beside: []string{"internal/intake", "internal/state"}, never: []string{"internal/store"}},   // who is told by which step
	"internal/digest":          {layer: 2, beside: []string{"internal/intake", "internal/state"}, never: []string{"internal/store"}},   // which messages become one
	"internal/feed":            {layer: 2, never: []string{"internal/store"}},                                                          // tells others what happens to deliveries
	"internal/chain":           {layer: 2, never: []string{"internal/store"}},                                                          // seals what is stored
	"internal/state":           {layer: 2, never: []string{"internal/store"}},                                                          // what follows which result
	"internal/media":           {layer: 2, never: []string{"internal/store"}},                                                          // files that are to be sent
	"internal/ical":            {layer: 2, never: []string{"internal/store"}},                                                          // rosters as calendars
	"internal/decide":          {layer: 2, beside: []string{"internal/state"}, never: []string{"internal/store"}},                      // what people decide about deliveries
	"internal/suppress":        {layer: 2, beside: []string{"internal/audience", "internal/state"}, never: []string{"internal/store"}}, // addresses to which nothing is sent
	"internal/content":         {layer: 2, never: []string{"internal/store"}},                                                          // what a message reads like
	"internal/refuge":          {layer: 2, beside: []string{"internal/state"}, never: []string{"internal/store"}},                      // where deliveries move to
	"internal/inquire":         {layer: 2, beside: []string{"internal/content", "internal/state"}, never: []string{"internal/store"}},  // providers, about what they were handed
	"internal/usher":           {layer: 2, beside: []string{"internal/state"}, never: []string{"internal/store"}},                      // who is next in a line
	"internal/admission":       {layer: 2, beside: []string{"internal/state"}, never: []string{"internal/store"}},                      // what may begin now, and by which account
	"internal/rollup":          {layer: 2, never: []string{"internal/store"}},                                                          // how attempts ended, by the minute
	"internal/callback":        {layer: 2, beside: []string{"internal/state", "internal/web"}, never: []string{"internal/store"}},      // what providers tell us by themselves
	"internal/audience":        {layer: 2, never: []string{"internal/store"}},                                                          // people in files and in blocks
	"internal/verify/members":  {layer: 2, beside: []string{"internal/campaign"}, never: []string{"internal/store"}},                   // where members of campaigns stand
	"internal/campaign":        {layer: 2, beside: []string{"internal/audience", "internal/content", "internal/state", "internal/suppress"}, never: []string{"internal/store"}},
	"internal/upkeep":          {layer: 2, never: []string{"internal/store"}},                                                                               // what moves no delivery
	"internal/receipts":        {layer: 2, beside: []string{"internal/campaign"}, never: []string{"internal/store"}},                                        // what became of members, as providers tell
	"internal/segment":         {layer: 2, beside: []string{"internal/campaign", "internal/receipts", "internal/state"}, never: []string{"internal/store"}}, // segments that this process has claimed
	"internal/intake":          {layer: 2, beside: []string{"internal/content", "internal/state"}, never: []string{"internal/store"}},
	"internal/quota":           {layer: 2, never: []string{"internal/store"}}, // bounds what keys and tenants ask for
	"internal/pull":            {layer: 2, beside: []string{"internal/content", "internal/state", "internal/suppress"}, never: []string{"internal/store"}},
	"internal/rescue":          {layer: 2, beside: []string{"internal/state"}, never: []string{"internal/store"}},                                          // what nobody else will move
	"internal/pacer":           {layer: 2, beside: []string{"internal/admission", "internal/rollup", "internal/state"}, never: []string{"internal/store"}}, // what rates depend on, and how they were
	"internal/engine":          {layer: 2, beside: []string{"internal/admission", "internal/rescue", "internal/decide", "internal/inquire", "internal/campaign", "internal/content", "internal/intake", "internal/pacer", "internal/pull", "internal/refuge", "internal/rollup", "internal/segment", "internal/state", "internal/suppress", "internal/upkeep", "internal/usher"}, never: []string{"internal/store"}},

	// 3: how people and programs reach it, and the providers it reaches in tests.
	// web is what their doors share, read what they show.
	"internal/web":                   {layer: 2, never: []string{"internal/store", "internal/engine"}},
	"internal/read":                  {layer: 3, never: []string{"internal/store"}},
	"internal/proof":                 {layer: 3, beside: []string{"internal/read"}, never: []string{"internal/store"}}, // signed statements of what became of messages
	"internal/api":                   {layer: 3, beside: []string{"internal/read", "internal/console/words"}, never: []string{"internal/store"}},
	"internal/console/words":         {layer: 3, never: []string{"internal/store"}}, // the texts of pages
	"internal/console/plot":          {layer: 3, never: []string{"internal/store"}}, // the points of charts
	"internal/console/form":          {layer: 3, never: []string{"internal/store"}}, // the forms that drivers' fields draw
	"internal/console/seek":          {layer: 3, never: []string{"internal/store"}}, // finds what somebody asks for
	"internal/console/difference":    {layer: 3, never: []string{"internal/store"}}, // how a text came to be another
	"internal/console/beside":        {layer: 3, never: []string{"internal/store"}}, // what is wrong with a form, beside its fields
	"internal/api/terms":             {layer: 3, never: []string{"internal/store"}}, // the words of the OpenAPI document
	"internal/front/*":               {layer: 3, beside: []string{"internal/proof", "internal/read", "internal/console/words", "internal/inbound", "internal/inbound/alerts"}, never: []string{"internal/store"}},
	"internal/inbound":               {layer: 3, never: []string{"internal/store"}},                                                      // the framework of fronts for senders of other makers
	"internal/inbound/alerts":        {layer: 3, beside: []string{"internal/inbound"}, never: []string{"internal/store"}},                // what Alertmanager and Grafana share
	"internal/channels":              {layer: 3, never: []string{"internal/store"}},                                                      // the configured channels, opened and tested
	"internal/people":                {layer: 2, beside: []string{"internal/web"}, never: []string{"internal/store"}},                    // lets people into the console
	"internal/oidc":                  {layer: 2, beside: []string{"internal/people", "internal/web"}, never: []string{"internal/store"}}, // asks an OpenID provider who somebody is
	"internal/console":               {layer: 3, beside: []string{"internal/proof", "internal/read", "internal/console/*"}, never: []string{"internal/store"}},
	"internal/console/host":          {layer: 3, beside: []string{"internal/console/words"}, never: []string{"internal/store"}},                                                         // what the console and groups of pages hand to each other
	"internal/console/gallery":       {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // pages of presets
	"internal/console/fronts":        {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // pages of fronts
	"internal/console/doctor":        {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // settings in force, and what is unsafe or broken
	"internal/console/removal":       {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // what deletes a thing from its page
	"internal/console/digests":       {layer: 3, beside: []string{"internal/console/difference", "internal/console/host", "internal/console/words"}, never: []string{"internal/store"}}, // which messages become one
	"internal/console/notifications": {layer: 3, beside: []string{"internal/console/difference", "internal/console/host", "internal/console/words"}, never: []string{"internal/store"}}, // whether somebody was told
	"internal/console/quiet":         {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // pages of when people are left alone
	"internal/console/rosters":       {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // pages of who is on duty
	"internal/console/suppressions":  {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // pages of addresses to which nothing is sent
	"internal/console/users":         {layer: 3, beside: []string{"internal/console/host", "internal/console/words"}, never: []string{"internal/store"}},                                // the page of a user of the directory
	"simulator":                      {layer: 3, never: []string{"internal/store", "internal/engine"}},

	"internal/consoletest": {layer: 5, tests: true},

	// 4: the whole program as a value; the only place where things meet.
	"server": {layer: 4},

	// 5: from flags and files to a running program.
	"internal/config":          {layer: 5},
	"internal/cli/columns":     {layer: 5},
	"internal/cli/lksms":       {layer: 5, beside: []string{"internal/cli/retold"}},
	"internal/cli/notify":      {layer: 5, beside: []string{"internal/cli/retold"}},
	"internal/cli/retold":      {layer: 5},
	"internal/cli/agent":       {layer: 5},
	"internal/cli/demo":        {layer: 5, beside: []string{"internal/config", "internal/cli/agent"}}, // starts sender apps
	"internal/cli/shell":       {layer: 5, beside: []string{"internal/config", "internal/cli/columns"}},
	"internal/cli/campaign":    {layer: 6},
	"internal/cli/remote":      {layer: 6, beside: []string{"internal/cli/campaign", "internal/cli/roster", "internal/cli/suppression"}},
	"internal/cli/roster":      {layer: 6},
	"internal/cli/follow":      {layer: 6},
	"internal/cli/media":       {layer: 6},
	"internal/cli/suppression": {layer: 6},
	"internal/cli/process":     {layer: 6},
	"internal/cli/local":       {layer: 6},

	// 7: the program with its commands, a public door; cmd and examples walk through it.
	"cli":                {layer: 7},
	"cmd/posthouse":      {layer: 8},
	"torture":            {layer: 5, beside: []string{"torture/internal/house"}, tests: true}, // prints what they found
	"torture/*":          {layer: 5, tests: true},                                             // kills, cuts and breaks; what it does that to is real
	"torture/internal/*": {layer: 5, beside: []string{"torture/internal/*"}, tests: true},     // what they kill, cut and explore with
	"examples/*":         {layer: 8},
	"scripts/*":          {layer: 8}, // what make runs
}

// floorOf finds the floor of a package, by its own name or that of its folder.
func floorOf(pkg string) (floor, bool) {
	if f, ok := floors[pkg]; ok {
		return f, true
	}
	f, ok := floors[path.Dir(pkg)+"/*"]
	return f, ok
}

func TestPackagesImportOnlyFromBelow(t *testing.T) {
	t.Parallel()
	homeless := make(map[string]bool)
	for _, file := range sources(t) {
		own, ok := floorOf(file.pkg)
		if !ok {
			homeless[file.pkg] = true
			continue
		}
		for _, imported := range file.imports() {
			below, ours := strings.CutPrefix(imported, module)
			if !ours || file.test {
				continue
			}
			if problem := mayImport(file.pkg, own, path.Clean("."+below)); problem != "" {
				t.Errorf("%s imports %s: %s", file.path, imported, problem)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(homeless)) {
		t.Errorf("package %s has no layer: give it a line in floors (arch_test.go), as low as its imports allow", pkg)
	}
}

// mayImport says why a package may not import another, "" if it may.
func mayImport(pkg string, own floor, imported string) string {
	other, ok := floorOf(imported)
	matches := func(pattern string) bool {
		hit, _ := path.Match(pattern, imported)
		return hit
	}
	switch {
	case !ok:
		return "" // reported at the package itself
	case other.tests && !own.tests:
		return "it is for tests only"
	case slices.ContainsFunc(own.never, matches):
		return pkg + " must not know it"
	case other.layer > own.layer:
		return "it stands above"
	case other.layer == own.layer && !slices.ContainsFunc(own.beside, matches):
		return "it stands beside: declare an interface, or move what both need down"
	}
	return ""
}

func TestClientImportsTheVocabularyAlone(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		for _, imported := range file.imports() {
			if file.pkg == "client" && !file.test && strings.HasPrefix(imported, module+"/") &&
				imported != module+"/wire" && imported != module+"/workflow" {
				t.Errorf("%s imports %s: the client imports only %s, its wire and its workflow", file.path, imported, module)
			}
		}
	}
}

// The outbox runs inside of other programs, beside the SQL driver that they chose.
func TestTheOutboxLinksNothingOfOthers(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./outbox").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 2 {
		t.Fatalf("only %v were listed", packages)
	}
	for _, p := range packages {
		if p != module && !strings.HasPrefix(p, module+"/") {
			t.Errorf("package outbox links %s", p)
		}
	}
}

func TestTheVocabularyImportsTheStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		for _, imported := range file.imports() {
			first, _, _ := strings.Cut(imported, "/")
			if file.pkg == "." && !file.test && strings.Contains(first, ".") {
				t.Errorf("%s imports %s, which is not of the standard library", file.path, imported)
			}
		}
	}
}

// sqlText recognises a statement by its keywords, written all large or all small.
var sqlText = regexp.MustCompile(`(?s)\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM)\s` +
	`|^\s*(select\s.+\sfrom|insert\s+into|update\s+\S+\s+set|delete\s+from)\s`)

func TestOnlyTheStoreHoldsSQL(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		switch {
		case file.test, strings.HasPrefix(file.pkg+"/", "internal/store/"), strings.HasPrefix(file.pkg+"/", "outbox/"), file.pkg == "internal/dbtest":
			continue
		case strings.HasPrefix(file.pkg, "examples/"): // a caller's own tables
			continue
		}
		file.inspect(func(n ast.Node) {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && sqlText.MatchString(text) {
				t.Errorf("%s: SQL text belongs in internal/store: %.60q", file.at(n), text)
			}
		})
	}
}

func TestNothingHappensBeforeMain(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: no init(): use a table literal or a constructor", file.at(f))
			}
		}
	}
}

var skips = regexp.MustCompile(`^(t|b|f|tb)\.Skip(f|Now)?$`)

func TestTestsWaitForEventsAndSkipNothing(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if own, _ := floorOf(file.pkg); !file.test && !own.tests {
			continue
		}
		file.inspect(func(n ast.Node) {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return
			}
			of, _ := call.X.(*ast.Ident)
			switch name := call.Sel.Name; {
			case of != nil && of.Name == "time" && name == "Sleep" && !file.uses("testing/synctest"):
				t.Errorf("%s: no time.Sleep in tests: wait for what is to happen, or use testing/synctest", file.at(n))
			case of != nil && skips.MatchString(of.Name+"."+name) && file.pkg != "internal/dbtest" && file.path != "internal/engine/rig_test.go":
				t.Errorf("%s: no test is skipped, except by dbtest where a server is missing, and by the engine's hours beside the race detector", file.at(n))
			}
		})
	}
}

func TestRandomNumbersComeFromV2(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if file.uses("math/rand") {
			t.Errorf("%s imports math/rand: use math/rand/v2, or crypto/rand where it must not be guessed", file.path)
		}
	}
}

func TestOnePackageKnowsNumberingPlans(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if file.uses("github.com/nyaruka/phonenumbers") != (file.path == "internal/phone/phone.go") {
			t.Errorf("%s: phone numbers are read by internal/phone, and there alone", file.path)
		}
	}
}

// banned are words that say nothing about a type.
var banned = []string{"Manager", "Helper", "Util", "Utils", "Service", "Processor", "Data", "Info", "Base", "Common"}

var camelWord = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]+)?|^[a-z0-9]+`)

func TestTypesAreNamedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		file.inspect(func(n ast.Node) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return
			}
			for _, word := range camelWord.FindAllString(spec.Name.Name, -1) {
				if slices.ContainsFunc(banned, func(b string) bool { return strings.EqualFold(b, word) }) {
					t.Errorf("%s: type %s: %q says nothing about what it is", file.at(n), spec.Name, word)
				}
			}
		})
	}
}

// TestLibcIsTheOneSQLiteWasMadeFor holds modernc.org/libc at the version that the
// go.mod of modernc.org/sqlite asks for: its authors test no other.
func TestLibcIsTheOneSQLiteWasMadeFor(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	if err != nil {
		t.Fatalf("go list -m modernc.org/sqlite: %v", err)
	}
	got, want := libcIn(t, "go.mod"), libcIn(t, strings.TrimSpace(string(out)))
	if got != want {
		t.Errorf("go.mod has modernc.org/libc %s, modernc.org/sqlite was made for %s", got, want)
	}
}

func libcIn(t *testing.T, gomod string) string {
	t.Helper()
	text, err := os.ReadFile(gomod)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s does not name modernc.org/libc", gomod)
	}
	return string(found[1])
}

// source is one Go file of the module.
type source struct {
	*ast.File
	path string // relative to the module
	pkg  string // its folder, "." for the root
	test bool
	set  *token.FileSet
}

// sources are every Go file of the module, in order of their paths. Nested modules and folders that the go command ignores are
// left out. The tests share them, and change none.
func sources(t *testing.T) []source {
	t.Helper()
	files, err := parsedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var parsedOnce = sync.OnceValues(parse)

// parse reads them.
func parse() ([]source, error) {
	var files []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && ignored(p):
			return filepath.SkipDir
		case d.IsDir() || path.Ext(p) != ".go":
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		files = append(files, source{file, p, path.Dir(p), strings.HasSuffix(p, "_test.go"), set})
		return nil
	})
	return files, err
}

func ignored(dir string) bool {
	name := filepath.Base(dir)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return true
	}
	return name == "testdata" || name == "bin" || name[0] == '.' || name[0] == '_'
}

func (f source) imports() []string {
	found := make(map[string]bool)
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			found[p] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (f source) uses(imported string) bool { return slices.Contains(f.imports(), imported) }

// at is where a node begins, as file:line.
func (f source) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

func (f source) inspect(visit func(ast.Node)) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		return true
	})
}
