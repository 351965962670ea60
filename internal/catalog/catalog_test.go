package catalog_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
)

func TestSentencesInChinese(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the window of 20 in 1m of its account sales-07 is full":                                                                                 "账号 sales-07的限流窗口已满：每 1m 最多 20 条",
		`there is no channel "nix"; the channels are desk`:                                                                                       `没有渠道 "nix"；可用的渠道有 desk`,
		`there is no channel "w20"; did you mean w20a or w10?`:                                                                                   `没有渠道 "w20"；是否指 w20a 或 w10？`,
		"is missing; give a whole number from 1 to 5":                                                                                            "必填，请填写整数（1 至 5）",
		`"ftp://x, \"y\"; give" is not allowed; give an http or https URL without a user name in it, such as https://example.com/send`:           `不能填 "ftp://x, \"y\"; give"，请填写http 或 https 地址，不带用户名，例如 https://example.com/send`,
		"the phone gave no answer: unexpected EOF":                                                                                               "手机没有应答：内容不完整",
		"the task names no channels, and neither oa nor dingtalk is configured":                                                                  "任务没有指定渠道，oa 和 dingtalk 也都没有配置",
		"the next try after 3 failures: tries_used_up":                                                                                           "已失败 3 次，等待下一次重试：已达最多失败次数",
		"the provider refuses the account a (rate 45009): quota of the day: all":                                                                 "平台拒绝账号 a（超过频率 45009）：quota of the day: all",
		"the provider refuses the account: auth 40001":                                                                                           "平台拒绝账号：凭证被拒 40001",
		"the provider refuses the account: rate":                                                                                                 "平台拒绝账号：超过频率",
		"account sales-07 is refused by the provider: 40001: x":                                                                                  "平台拒绝账号 sales-07：40001: x",
		"100 a second of priority low may begin, and 10000 or more that are due stand before it":                                                 "优先级 低 每秒可开始 100 条，前面还有 至少 10000 条到期的",
		`there is no setting of this name; did you mean a or b?`:                                                                                 "没有这个名称的设置，是否指 a 或 b？",
		`is "a%b": /, \, ?, #, % and spaces at the ends are not allowed in a name`:                                                               `为 "a%b"；名称中不能有 /、\、?、#、%，首尾不能有空格`,
		"no index i on posthouse_queue":                                                                                                          "表 posthouse_queue 缺少索引 i",
		"column posthouse_queue.state is `int` instead of `text`":                                                                                "表 posthouse_queue 的列 state 为 `int`，应为 `text`",
		"the channel cannot be opened: is required":                                                                                              "渠道无法打开：必填",
		"It waits: the next try after 3 failures: 127.0.0.1:80 answered HTTP 503 Service Unavailable.":                                           "正在等待：已失败 3 次，等待下一次重试：127.0.0.1:80 返回 HTTP 503（Service Unavailable）。",
		"its account may make 2.5 calls a second: base 5 × health 1.00 × success 0.50 × load 1.00 × time 1.00 (slow since 2026-11-27T10:00:00Z)": "账号当前每秒可调用 2.5 次：基准 5 × 健康 1.00 × 成功率 0.50 × 负载 1.00 × 时段 1.00（平台响应慢，自 2026-11-27T10:00:00Z）",
	} {
		if got, ok := catalog.Chinese(text); !ok || got != want {
			t.Errorf("%s\nis %s\nwant %s", text, got, want)
		}
	}
	for _, text := range []string{"", "insufficient balance", "slow", "is required by us", "there is no driver x", strings.Repeat("is required", 1000)} {
		if got, ok := catalog.Chinese(text); ok || got != text {
			t.Errorf("%.40s is taken for %q", text, got)
		}
	}
}

// What an error is about stays as it is, and so does what is not known.
func TestErrorsInChinese(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`--budget: has the period "week": want day or month, such as 500/month`:                                       `--budget：周期为 "week"，应为 day 或 month，例如 500/month`,
		`call the server: Get "http://127.0.0.1:1/v1/x": dial tcp 127.0.0.1:1: connect: connection refused`:           `无法连接服务器：Get "http://127.0.0.1:1/v1/x"：dial tcp 127.0.0.1:1：connect：连接被拒绝`,
		"people.csv: the file cannot be read; no such file or directory":                                              "people.csv：文件无法读取；文件或目录不存在",
		"--file r.json: json: unknown field \"stepz\"":                                                                "--file r.json：没有字段 \"stepz\"",
		"--file r.json: json: cannot unmarshal string into Go struct field Route.steps of type []posthouse.RouteStep": "--file r.json：字段 Route.steps 的值不能是 string",
		"has no column id: want a header such as id,name,type,dingtalk":                                               "缺少列 id；表头例如 id,name,type,dingtalk",
		"has the column \"id\" twice":                                                                                 "列 \"id\" 出现了两次",
		"the workbook cannot be read: it is damaged, or no Excel file (.xlsx). Save the sheet as CSV UTF-8":           "Excel 文件无法读取：文件已损坏，或不是 Excel（.xlsx）文件。请把工作表另存为 CSV UTF-8",
		"the workbook cannot be read: it unpacks to more than 36 MiB. Save the sheet as CSV UTF-8":                    "Excel 文件无法读取：解压后超过 36 MiB。请把工作表另存为 CSV UTF-8",
		"wrong number of fields":                       "单元格数与表头不一致",
		`bare " in non-quoted-field`:                   "没有用引号括起的单元格里不能有引号",
		`extraneous or missing " in quoted-field`:      "带引号的单元格里引号多余或缺失",
		"read standard input: something of the system": "读取标准输入时出错：something of the system",
		"payload.sum the template needs a value here":  "变量 sum 没有值",
		"the message cannot be made: payload.金额 the template needs a value here; payload.日期 the template needs a value here": "the message cannot be made：变量 金额 没有值；变量 日期 没有值",
		"messages[0].payload.金额 the template needs a value here":                                                             "messages[0].payload.金额 没有取值",
		"content.rows[0] is required":              "content.rows[0] 必填",
		"Aliyun did not deliver it: 单个号码日上限":       "阿里云未送达：单个号码日上限",
		"WeChat did not deliver it: user block":    "微信未送达：用户拒收",
		"mx.example.com: the server offers no TLS": "mx.example.com：服务器不支持 TLS",
		"no access token: connection refused":      "没有取得 access token：连接被拒绝",
	} {
		if got, ok := catalog.Error(text); !ok || got != want {
			t.Errorf("%s\nis %s\nwant %s", text, got, want)
		}
	}
	for _, text := range []string{"", ": ", "a: b: c", "insufficient balance: 40001"} {
		if got, ok := catalog.Error(text); ok || got != text {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
	many := strings.Repeat("a: ", 600) // must not be looked at in each of its parts anew
	if got, ok := catalog.Error(many); ok || got != many {
		t.Errorf("a text of many colons became %q", got)
	}
}

// Each sentence has both languages, stands once, and has in Chinese no argument that the English lacks.
func TestEachSentenceIsWhole(t *testing.T) {
	t.Parallel()
	whole(t, slices.Concat(catalog.Sentences(), catalog.Words()))
	whole(t, catalog.Verdicts())
}

func whole(t *testing.T, list []catalog.Sentence) {
	t.Helper()
	seen := map[string]bool{}
	verb, place := regexp.MustCompile(`%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]`), regexp.MustCompile(`\{(\d)[!?]?\}`)
	for _, s := range list {
		if seen[s.English] {
			t.Errorf("%q stands twice", s.English)
		}
		seen[s.English] = true
		if s.English == "" || !strings.ContainsFunc(s.Chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && s.English != "true or false" {
			t.Errorf("%q is %q in Chinese", s.English, s.Chinese)
		}
		for _, at := range place.FindAllStringSubmatch(s.Chinese, -1) {
			if n, err := strconv.Atoi(at[1]); err != nil || n < 1 || n > len(verb.FindAllString(s.English, -1)) {
				t.Errorf("%q has no argument %s", s.English, at[1])
			}
		}
	}
}

// Each state has its word where it stands in a line, whatever it is a state of.
func TestEachStateIsInChinese(t *testing.T) {
	t.Parallel()
	var states []string
	for _, s := range posthouse.States() {
		states = append(states, string(s))
	}
	for _, s := range posthouse.CampaignStates() {
		states = append(states, string(s))
	}
	for _, s := range posthouse.NotificationStates() {
		states = append(states, string(s))
	}
	for _, s := range []posthouse.AgentState{posthouse.AgentActive, posthouse.AgentPaused, posthouse.AgentDraining} {
		states = append(states, string(s))
	}
	for _, s := range []posthouse.AudienceState{posthouse.AudienceOpen, posthouse.AudienceClosing, posthouse.AudienceReady} {
		states = append(states, string(s))
	}
	for _, s := range states {
		if word := catalog.State(s); word == s || strings.ContainsFunc(word, func(r rune) bool { return r < unicode.MaxASCII }) {
			t.Errorf("the state %s is %q", s, word)
		}
	}
}

// Each reason that deliveries, notifications and reminders have by our own code is there in Chinese, and says what is wrong by itself.
func TestEachReasonIsInChinese(t *testing.T) {
	t.Parallel()
	reasons := map[string]bool{}
	for _, glob := range []string{"../../rule/*.go", "../campaign/*.go", "../route/*.go", "../remind/*.go", "../state/*.go", "../work/*.go"} {
		names, err := filepath.Glob(glob)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", glob, err)
		}
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if one, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(one.Names[0].Name, "Reason") && len(one.Values) == 1 {
					if code, ok := formatOf(one.Values[0]); ok {
						reasons[code] = true
					}
				}
				return true
			})
		}
	}
	if len(reasons) < 50 {
		t.Errorf("only %d reasons were found", len(reasons))
	}
	for code := range reasons {
		if catalog.Reason(code) == code {
			t.Errorf("the reason %s has no Chinese: add it to reasons", code)
		}
	}
	for code, want := range map[string]string{"recipient": "收件人无效", "account": "账号被拒", "template": "模板无法填写", "not_on_duty": "不在班"} {
		if got := catalog.Reason(code); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
	if got, _ := catalog.Chinese("It is settled: failed (recipient)."); got != "已了结：失败（收件人无效）。" {
		t.Errorf("a sentence says %s", got)
	}
}

// spoken are the files whose sentences reach people on pages.
var spoken = []string{
	"../admission/*.go", "../engine/explain.go", "../state/refusal.go", "../state/machine.go", "../draft/*.go", "../channels/*.go", "../decide/*.go", "../proof/make.go", "../quiet/*.go", "../route/*.go",
	"../digest/*.go", "../remind/*.go", "../intake/*.go", "../people/*.go", "../audience/*.go", "../suppress/*.go", "../expression/*.go", "../fronttext/*.go", "../limittext/budget.go", "../render/*.go", "../campaign/*.go",
	"../content/reveal.go", "../preset/gallery.go", "../preset/parse.go", "../preset/player.go", "../preset/preset.go", "../preset/try.go",
	"../cli/local/doctor*.go", "../front/doctor/*.go",
	"../web/*.go", "../oidc/*.go", "../quota/*.go", "../flow/*.go", "../pull/*.go", "../media/*.go", "../inbound/*.go", "../life/*.go", "../feed/*.go", "../read/*.go", "../rescue/*.go", "../work/*.go", "../limit/*.go", "../proof/archived.go",
	"../front/ack/*.go", "../front/duty/*.go", "../front/gauges/*.go", "../front/people/*.go", "../front/processes/*.go", "../store/*.go", "../store/campaigns/*.go", "../store/lksms/*.go", "../store/partition/*.go", "../store/sqldb/tx.go", "../store/sqldb/committer.go",
	"../api/*.go", "../console/*.go", "../console/*/*.go", "../front/decisions/*.go", "../front/fronts/*.go", "../front/proofs/*.go", "../front/preferences/preferences.go", "../store/registry/*.go", "../../rule/*.go",
	"../../channel/config.go", "../../channel/decode.go", "../../channel/suggest.go", "../../channel/egress.go", "../../channel/content.go", "../../channel/field.go",
}

// Each sentence that these files make is there in Chinese.
func TestNoSentenceIsInEnglishAlone(t *testing.T) {
	t.Parallel()
	if found := spokenIn(t, spoken, made); found < 120 {
		t.Errorf("only %d sentences were found", found)
	}
}

// driven are the files of the drivers: what is wrong with a config, a content or an address, and what became of a call.
var driven = []string{"../proof/check.go", "../proof/again.go", "../retry/*.go", "../phone/*.go", "../../rule/*.go", "../../channel/*.go", "../../channel/*/*.go", "../../channel/internal/*/*.go", "../hook/*.go", "../phone/*.go", "../sms/*.go"}

// What a driver says reaches forms, lists and explain: each sentence is there in Chinese. What wraps an error for the log alone begins with
// the error.
func TestNoDriverSpeaksEnglishAlone(t *testing.T) {
	t.Parallel()
	speak := func(t *testing.T, name string, list map[string]string) {
		t.Helper()
		if strings.Contains(name, "/channeltest/") {
			return
		}
		made(t, name, list)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at, is := map[string]int{"add": 1, "problem": 1, "problemOf": 1, "errors.New": 0, "fmt.Errorf": 0}[calledBy(call)]
			if !is || at >= len(call.Args) {
				return true
			}
			if format, ok := formatOf(call.Args[at]); ok && !strings.HasPrefix(format, "%w") {
				list[strings.ReplaceAll(format, "%w", "%s")] = files.Position(call.Pos()).String()
			}
			return true
		})
		if base := filepath.Base(name); base != "multiplex.go" && base != "tc3.go" && !strings.HasPrefix(name, "../proof/") { // which compare what Go says, sign, and have commands to copy
			texts(file, func(format string, at token.Pos) { list[format] = files.Position(at).String() })
		}
	}
	if found := spokenIn(t, driven, speak); found < 400 {
		t.Errorf("only %d sentences were found", found)
	}
}

// checked are the files that refuse settings of channels, accounts, tenants, routes and digests.
var checked = []string{
	"../limit/limit.go", "../rate/hours.go", "../state/settings.go", "../channels/check.go", "../channels/budgets.go", "../quiet/check.go", "../quiet/caps.go", "../quota/request.go", "../route/check.go", "../digest/setting.go", "../retry/*.go",
}

// What is wrong with a setting reaches forms: each sentence is there in Chinese, by whatever function it goes out.
func TestNoRefusalOfASettingIsInEnglishAlone(t *testing.T) {
	t.Parallel()
	speak := func(t *testing.T, name string, list map[string]string) {
		t.Helper()
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		texts(file, func(format string, at token.Pos) {
			if !slices.Contains([]string{"requests tenant %s", "requests key %s", "count a request: %s", "read the payload: %s", "%d granted, next in %v: at most %d each %v"}, format) { // names, and what the log has
				list[format] = files.Position(at).String()
			}
		})
	}
	if found := spokenIn(t, checked, speak); found < 60 {
		t.Errorf("only %d sentences were found", found)
	}
}

// described are the fields of what describes a driver, which have a field beside them in Chinese.
var described = []string{"Help", "HelpZH", "Label", "LabelZH", "Doc", "Title", "TitleZH", "Summary", "SummaryZH"}

// texts are all that a file says in three words or more, in whatever field and by whatever function it goes out, but for what has its Chinese
// beside it.
func texts(file *ast.File, note func(format string, at token.Pos)) {
	han := func(e ast.Expr) bool {
		format, _ := formatOf(e)
		return strings.ContainsFunc(format, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field: // whose tags are no texts
			_, is := n.(*ast.ImportSpec)
			return !is
		case *ast.CompositeLit:
			return !slices.ContainsFunc(n.Elts, han)
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			return !ok || !slices.Contains(described, key.Name)
		case ast.Expr:
			format, ok := formatOf(n)
			words := regexp.MustCompile(`\pL{2,}`).FindAllString(strings.ReplaceAll(plain(format), "%s", ""), -1)
			if ok && strings.Count(format, " ") > 1 && len(words) > 1 && !han(n) {
				note(strings.ReplaceAll(format, "%w", "%s"), n.Pos())
			}
			return !ok
		}
		return true
	})
}

// diagnosed are the files whose errors and settings the diagnosis says as they are.
var diagnosed = []string{
	"../secret/keyfile.go", "../secret/keyring.go", "../store/replica.go", "../store/sqldb/doctor.go", "../store/sqldb/replica.go", "../store/sqldb/postgres.go", "../store/sqldb/postgrespool.go", "../store/sqldb/mysql.go", "../store/sqldb/sqlite.go", "../store/sqldb/primary.go", "../store/sqldb/ground.go", "../store/sqldb/db.go", "../store/schema/fingerprint.go", "../store/schema/fit.go", "../store/schema/views.go", "../store/schema/watermark.go",
	"../../server/sms.go",
}

// What each setting does is there in Chinese, as the page of settings shows it.
func TestEachSettingIsExplained(t *testing.T) {
	t.Parallel()
	helps := func(t *testing.T, name string, list map[string]string) {
		t.Helper()
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, is := pair.Key.(*ast.Ident); is && key.Name == "help" {
					if help, ok := formatOf(pair.Value); ok {
						list[strings.ReplaceAll(help, "`", "")] = files.Position(pair.Pos()).String()
					}
				}
			}
			return true
		})
	}
	if found := spokenIn(t, []string{"../config/server.go"}, helps); found < 80 {
		t.Errorf("only %d settings were found", found)
	}
}

// What the diagnosis hands on of others is there in Chinese too.
func TestNoFindingIsInEnglishAlone(t *testing.T) {
	t.Parallel()
	if found := spokenIn(t, diagnosed, found); found < 40 {
		t.Errorf("only %d sentences were found", found)
	}
}

// What stands above the lines to paste at a sender is there in Chinese: the console and commands show it with a new front's token.
func TestNoHeadingOfAFrontIsInEnglishAlone(t *testing.T) {
	t.Parallel()
	headings := func(t *testing.T, name string, list map[string]string) {
		t.Helper()
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); !ok || !strings.HasPrefix(fn.Name.Name, "setup") {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if pair, ok := n.(*ast.KeyValueExpr); ok {
					if key, is := pair.Key.(*ast.Ident); is && key.Name == "Title" {
						if title, ok := formatOf(pair.Value); ok {
							list[title] = files.Position(pair.Pos()).String()
						}
					}
				}
				return true
			})
		}
	}
	if found := spokenIn(t, []string{"../front/*/*.go"}, headings); found < 15 {
		t.Errorf("only %d headings were found", found)
	}
}

// typed are the files whose errors commands print.
var typed = []string{
	"../cli/*/*.go", "../config/*.go", "../limittext/*.go", "../fronttext/*.go", "../../client/*.go", "../../settings.go",
}

// What commands say is wrong is there in Chinese, without what it is about before it and a wrapped error behind it: Error takes these off.
func TestNoErrorOfCommandsIsInEnglishAlone(t *testing.T) {
	t.Parallel()
	about := regexp.MustCompile(`^(?:(?:--)?%s|--[a-z-]+(?: %s)?|read_dsn): |: %[swv]$`)
	whole := map[string]bool{}
	for _, s := range catalog.Sentences() {
		whole[plain(s.English)] = true
	}
	errors := func(t *testing.T, name string, list map[string]string) {
		t.Helper()
		if demo := strings.HasPrefix(name, "../cli/demo/") || strings.HasPrefix(name, "../cli/lksms/") || strings.HasPrefix(name, "../cli/notify/"); demo {
			return // whose errors are of databases of others, and of the demo's own server
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at, is := map[string]int{"Usagef": 0, "shell.Usagef": 0, "fmt.Errorf": 0, "errors.New": 0, "Hint": 1, "shell.Hint": 1}[calledBy(call)]
			if !is {
				return true
			}
			if format, ok := formatOf(call.Args[at]); ok && strings.Contains(format, " ") {
				format = plain(strings.ReplaceAll(format, "%w", "%s"))
				for !whole[format] && about.MatchString(format) {
					format = about.ReplaceAllString(format, "")
				}
				if format != "%s %s" && format != "failed" && strings.Contains(format, " ") {
					list[format] = files.Position(call.Pos()).String()
				}
			}
			return true
		})
	}
	if found := spokenIn(t, typed, errors); found < 200 {
		t.Errorf("only %d errors were found", found)
	}
}

// calledBy is the name of a function that is called, with its package where it is of another.
func calledBy(call *ast.CallExpr) string {
	if fn, ok := call.Fun.(*ast.Ident); ok {
		return fn.Name
	}
	return callOf(call)
}

// spokenIn looks whether what files say is there in Chinese, and returns how many sentences that are.
func spokenIn(t *testing.T, globs []string, read func(*testing.T, string, map[string]string)) int {
	t.Helper()
	known := map[string]bool{"%s": true, "": true, "%s: %s": true, "%s (%s %s): %s": true, "no %s": true, `Basic realm="Posthouse", charset="UTF-8"`: true} // what they begin or end with is there by itself
	for _, s := range append(catalog.Sentences(), catalog.Words()...) {
		known[plain(s.English)] = true
	}
	found := map[string]string{}
	for _, glob := range globs {
		names, err := filepath.Glob(glob)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", glob, err)
		}
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				read(t, name, found)
			}
		}
	}
	for _, format := range slices.Sorted(maps.Keys(found)) {
		// One for many, such as "%s's answer could not be read", does where it leaves no English of its own.
		if said, general := catalog.Chinese(format); general && !strings.Contains(format, "%") && !english.MatchString(said) {
			continue
		}
		if !known[plain(format)] && strings.Contains(format, " ") { // a word alone is the name of a field
			t.Errorf("%s: %q has no Chinese: add it to package catalog", found[format], format)
		}
	}
	return len(found)
}

// english are three words of English in a row, within which no example stands.
var english = regexp.MustCompile(`\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b`)

// found collects what files say of a database, a keyring and settings: their errors, why a setting is unsafe, and what is missing.
func found(t *testing.T, name string, list map[string]string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(e ast.Expr) {
		if format, ok := formatOf(e); ok && strings.Contains(format, " ") {
			list[strings.ReplaceAll(format, "%w", "%s")] = files.Position(e.Pos()).String()
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called := callOf(n); called == "fmt.Errorf" || called == "errors.New" {
				note(n.Args[0])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Why" {
				note(n.Value)
			}
		case *ast.CompositeLit:
			if len(n.Elts) == 3 && n.Type == nil { // a setting, what is wanted, and why
				note(n.Elts[2])
			}
		case *ast.AssignStmt:
			if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && (to.Sel.Name == "Problem" || to.Sel.Name == "Missing") {
				note(n.Rhs[0])
				if added, ok := n.Rhs[0].(*ast.CallExpr); ok {
					note(added.Args[len(added.Args)-1])
				}
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Error" || n.Name.Name == "Weak" {
				ast.Inspect(n, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						note(r.Results[0])
					}
					return true
				})
			}
		}
		return true
	})
}

// callOf is the name of a function of a package that is called.
func callOf(call *ast.CallExpr) string {
	if fn, ok := call.Fun.(*ast.SelectorExpr); ok {
		if of, ok := fn.X.(*ast.Ident); ok {
			return of.Name + "." + fn.Sel.Name
		}
	}
	return ""
}

// plain is a format without how its arguments are written.
func plain(format string) string {
	return regexp.MustCompile(`%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]`).ReplaceAllString(format, "%s")
}

// speaks are the functions that make a sentence for people, and which argument is its format.
var speaks = map[string]int{"Refuse": 1, "RefuseNew": 1, "Errorf": 1, "problem": 1, "refuse": 1, "Add": 1, "add": 1, "Invalid": 0, "Unreadable": 0}

// alone are functions within others that do.
var alone = map[string]int{"flaw": 1, "wrong": 0, "no": 0}

// made collects the sentences that a file makes, each with its place.
func made(t *testing.T, name string, found map[string]string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(e ast.Expr) {
		if format, ok := formatOf(e); ok {
			found[format] = files.Position(e.Pos()).String()
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok {
				if at, ok := alone[fn.Name]; ok && at < len(n.Args) {
					note(n.Args[at])
				}
			}
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok {
				if x, ok := fn.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name == "Log") {
					return true // wraps an error for the log
				}
				if at, ok := speaks[fn.Sel.Name]; ok && at < len(n.Args) {
					note(n.Args[at])
				}
			}
		case *ast.CompositeLit:
			if of, is := n.Type.(*ast.Ident); len(n.Elts) == 3 && (n.Type == nil || is && of.Name == "finding") { // of the doctor: its check, whether it is well, and what was found
				note(n.Elts[2])
			}
			for i, one := range n.Elts {
				pair, ok := one.(*ast.KeyValueExpr)
				if of, is := n.Type.(*ast.Ident); !ok && is && of.Name == "Wait" && i == 1 {
					note(one)
				} else if ok {
					if key, is := pair.Key.(*ast.Ident); is && (key.Name == "Message" || key.Name == "Detail") {
						note(pair.Value)
					}
				}
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN {
				return true // what is added stands in the whole
			}
			switch to := n.Lhs[0].(type) {
			case *ast.SelectorExpr:
				if to.Sel.Name == "Detail" {
					note(n.Rhs[0])
				}
			case *ast.Ident:
				if to.Name == "detail" || to.Name == "said" {
					note(n.Rhs[0])
				}
			}
		case *ast.FuncDecl:
			if slices.Contains([]string{"allowed", "UnknownName", "Refusal", "BadName", "wrongName", "weak"}, n.Name.Name) {
				ast.Inspect(n, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						for _, e := range r.Results {
							note(e)
						}
					}
					return true
				})
			}
		}
		return true
	})
}

// formatOf is the format that an expression is made with; false where it has no text of its own.
func formatOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, one := formatOf(e.X)
		right, other := formatOf(e.Y)
		if !one {
			left = "%s"
		}
		if !other {
			right = "%s"
		}
		return left + right, one || other
	case *ast.CallExpr:
		if fn, ok := e.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Sprintf" {
			return formatOf(e.Args[0])
		}
	}
	return "", false
}

// A reason is known by its word in Chinese as well as by itself: no two have the same word, and what is a reason of nobody stays.
func TestAReasonIsKnownByItsWord(t *testing.T) {
	t.Parallel()
	for _, s := range catalog.Reasons() {
		for _, text := range []string{s.English, catalog.Reason(s.English)} {
			if got := catalog.ReasonOf(text); got != s.English {
				t.Errorf("%q is the reason %q, want %q", text, got, s.English)
			}
		}
	}
	if got := catalog.ReasonOf("my_rule"); got != "my_rule" {
		t.Errorf("a reason of a rule became %q", got)
	}
}

// A list within a Chinese sentence has Chinese commas, and the key that a server began with is no person there.
func TestWhatStandsInASentenceIsChinese(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`is "foo": want one of waiting, told, acknowledged, not_told`:                                                                            `为 "foo"，应为 waiting、told、acknowledged、not_told 之一`,
		`the condition "payload.level > 3" fails: the operator > does not take nothing and a number, at line 1, character 15: the step is taken`: `条件 "payload.level > 3" 无法求值：运算符 > 不能用于空值与数字，第 1 行第 15 个字符，照常执行这一步`,
		"It was acknowledged at 03:00 by given at start: no further step begins.":                                                                "启动时提供的密钥 已于 03:00 确认，不再执行后续步骤。",
		"It was acknowledged at 03:00 by li.na: no further step begins.":                                                                         "li.na 已于 03:00 确认，不再执行后续步骤。",
		`is "foo": want one of sent, unknown`:                                                                                                    `为 "foo"，应为 sent、unknown 之一`,
	} {
		if got, known := catalog.Chinese(said); !known || got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}
