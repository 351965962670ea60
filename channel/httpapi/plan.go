package httpapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// plan is a configuration made ready: every text parsed, every mistake found.
type plan struct {
	method    string
	url       template
	headers   map[string]template
	body      template
	separator string
	batch     int

	success       picker
	successValues []string
	successText   string
	id            picker
	code          picker
	message       picker
	retryAfter    picker

	results         picker
	resultsByName   bool // they are an object whose names are the recipients
	resultRecipient picker
	resultCode      picker
	resultSuccess   []string
	resultMessage   picker
	resultID        picker

	patterns int // the sizes of all patterns together

	table        table
	failed       []failure
	otherCodes   posthouse.Class
	serverErrors posthouse.Class

	syntax  syntax
	token   *tokenPlan   // nil for a channel that needs none
	receipt *receiptPlan // nil for one whose provider brings none

	problems []posthouse.Problem
}

func check(c channel.Config) []posthouse.Problem { return newPlan(c).problems }

func newPlan(c channel.Config) *plan {
	p := &plan{
		method: c.String("method"), separator: c.String("separator"), batch: max(1, c.Int("batch")),
		successValues: c.List("success_values"), successText: c.String("success_text"),
		resultSuccess: c.List("result_success"),
		otherCodes:    posthouse.Class(c.String("other_codes")),
		serverErrors:  posthouse.Class(c.String("server_errors")),
	}
	if len(p.resultSuccess) == 0 {
		p.resultSuccess = p.successValues
	}
	p.parseRequest(c)
	p.parsePickers(c)
	p.table = newTable(c.Map("codes"), func(line, message string) { p.problem("codes."+line, message) })
	p.parseFailed(c.Map("failed"))
	p.token, p.receipt = p.newToken(c), p.newReceipt(c)
	p.checkBody(c)
	p.checkSuccess(c)
	p.checkBatch(c)
	p.checkIdempotency(c)
	return p
}

// names are the members of a payload that the request asks for by name. ${payload} asks for what leaves anyway.
func (p *plan) names() (list []string) {
	for _, t := range append(slices.Collect(maps.Values(p.headers)), p.url, p.body) {
		for _, leaf := range t.leaves() {
			if leaf.payload && len(leaf.path) > 0 && leaf.path[0].key != "" {
				list = append(list, leaf.path[0].key)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *plan) problem(path, message string) {
	p.problems = append(p.problems, posthouse.Problem{Path: path, Message: message})
}

func (p *plan) reported(path string) bool {
	return slices.ContainsFunc(p.problems, func(q posthouse.Problem) bool { return q.Path == path })
}

func (p *plan) parseRequest(c channel.Config) {
	p.syntax = syntax{secrets: c.Map("secrets"), values: c.Map("values"), token: c.Has("token_url")}
	p.url = p.template("url", c.String("url"), p.syntax.at(render.URLPath))
	p.body = p.template("body", c.String("body"), p.syntax.at(placeOf[c.String("encoding")]))
	if slices.ContainsFunc(p.body.leaves(), func(leaf part) bool { return leaf.name == "body" }) {
		p.problem("body", "${body} is the body as it is sent, for a signature in the URL or a header: it cannot stand in itself")
	}
	p.headers = map[string]template{}
	add := func(where, name, value string) {
		if !channel.ValidHeader(name, value) {
			p.problem(where, "this cannot be sent as a header: a name is one word of letters, digits and dashes, a value is one line")
			return
		}
		p.headers[http.CanonicalHeaderKey(name)] = p.template(where, value, p.syntax.at(render.Plain))
	}
	if t := cmp.Or(c.String("content_type"), contentTypes[c.String("encoding")]); c.Has("body") {
		add("content_type", "Content-Type", t)
	}
	headers := c.Map("headers")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add("headers."+name, name, headers[name])
	}
	if name := c.String("idempotency_header"); name != "" {
		add("idempotency_header", name, "${idempotency_key}")
	}
}

var contentTypes = map[string]string{
	"json": "application/json; charset=utf-8",
	"form": "application/x-www-form-urlencoded",
	"xml":  "application/xml; charset=utf-8",
	"text": "text/plain; charset=utf-8",
}

// placeOf is the place at the beginning of a body.
var placeOf = map[string]render.Place{"json": render.JSONValue, "form": render.URLQuery, "xml": render.XMLText}

func (p *plan) template(where, text string, syn syntax) template {
	t, err := parseTemplate(where, text, syn)
	if err != nil {
		p.problem(where, err.Error())
	}
	return t
}

// memberName stands in result_recipient for the names of an object of results.
const memberName = "key"

func (p *plan) parsePickers(c channel.Config) {
	for field, to := range map[string]*picker{
		"success_path": &p.success, "id_path": &p.id, "code_path": &p.code,
		"message_path": &p.message, "retry_after_path": &p.retryAfter,
		"results_path": &p.results, "result_recipient": &p.resultRecipient, "result_code": &p.resultCode,
		"result_message": &p.resultMessage, "result_id": &p.resultID,
	} {
		if field == "result_recipient" && c.String(field) == memberName {
			p.resultsByName = true
			continue
		}
		var err error
		if *to, err = parsePicker(c.String(field)); err != nil {
			p.problem(field, err.Error())
		}
		p.patterns += to.size
	}
	if !c.Has("code_path") {
		p.code = p.success
	}
	slices.SortFunc(p.problems, func(a, b posthouse.Problem) int { return strings.Compare(a.Path, b.Path) })
}

// parseFailed reads which lists of an answer name those who were not served.
func (p *plan) parseFailed(lists map[string]string) {
	t := newTable(lists, func(line, message string) { p.problem("failed."+line, message) })
	for _, r := range t.rules {
		f := failure{path: r.path, meaning: r.meaning}
		if len(r.path) > 0 {
			f.name = r.path[len(r.path)-1].key
		}
		p.failed = append(p.failed, f)
	}
	for line := range t.exact {
		p.problem("failed."+line, "give a JSON path to a list in the answer, such as $.invaliduser")
	}
}

func classNames() []string {
	var out []string
	for _, class := range posthouse.Classes() {
		out = append(out, string(class))
	}
	return out
}

// classChoices are the classes of a result, each with what becomes of a delivery that has it.
func classChoices() []channel.Choice {
	say := map[posthouse.Class][2]string{
		posthouse.ClassOK:        {"Accepted", "已接收"},
		posthouse.ClassTransient: {"Not accepted, tried again", "未接收，稍后重试"},
		posthouse.ClassRate:      {"Too fast: the account waits", "过快：账号等待后继续"},
		posthouse.ClassAuth:      {"Credentials are refused", "凭据被拒绝"},
		posthouse.ClassAccount:   {"The account may not send: quota, balance, permission", "账号不能发送：额度、余额或权限"},
		posthouse.ClassBlocked:   {"The address may not be called", "地址不允许访问"},
		posthouse.ClassLocal:     {"This machine could not send", "本机无法发送"},
		posthouse.ClassRecipient: {"The recipient cannot be reached: final", "收件人无法送达：不再重试"},
		posthouse.ClassContent:   {"The content is refused: final", "内容被拒绝：不再重试"},
		posthouse.ClassRequest:   {"The request is malformed: final", "请求格式有误：不再重试"},
		posthouse.ClassUnknown:   {"It may have arrived", "结果未知：可能已送达"},
	}
	var out []channel.Choice
	for _, class := range posthouse.Classes() {
		out = append(out, channel.Choice{Value: string(class), Label: say[class][0], LabelZH: say[class][1]})
	}
	return out
}

// methods are choices of HTTP methods, which are called what they are.
func methods(names ...string) []channel.Choice {
	var out []channel.Choice
	for _, name := range names {
		out = append(out, channel.Choice{Value: name, Label: name, LabelZH: name})
	}
	return out
}

// checkBody fills the body with an example: what is not JSON then would never be.
func (p *plan) checkBody(c channel.Config) {
	if p.method == http.MethodGet && c.Has("body") {
		p.problem("body", "a GET request has no body; put the values in the URL or choose another method")
	}
	if c.String("encoding") != "json" || c.String("body") == "" || p.reported("body") {
		return
	}
	body, err := p.body.render(&scope{outs: make([]channel.Outgoing, 1), now: time.Unix(0, 0), example: true})
	var v any
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		p.problem("body", "is not JSON once its placeholders are filled: "+err.Error())
	}
}

func (p *plan) checkSuccess(c channel.Config) {
	if c.Has("success_text") && c.Has("success_path") {
		p.problem("success_text", "give either success_text or success_path")
	}
	if p.success.isPath && !c.Has("success_values") {
		p.problem("success_values", "is missing: say which values at success_path mean success, such as 0")
	}
	if c.Has("success_values") && !c.Has("success_path") {
		p.problem("success_path", "is missing: say where in the answer success_values stand, such as $.code")
	}
}

func (p *plan) checkBatch(c channel.Config) {
	if p.batch > 1 {
		for _, t := range p.templates() {
			for _, leaf := range t.leaves() {
				if leaf.variable.each {
					p.problem(t.where, "${"+leaf.name+"} differs between the recipients of a batch; use ${users}, ${addresses} or ${deliveries}, or set batch to 1")
				}
			}
		}
	}
	for _, field := range []string{"result_recipient", "result_code", "result_success", "result_message", "result_id"} {
		if c.Has(field) && !c.Has("results_path") {
			p.problem(field, "has no effect without results_path")
		}
	}
	if !c.Has("results_path") {
		return
	}
	for _, field := range []string{"result_recipient", "result_code"} {
		if !c.Has(field) {
			p.problem(field, "is missing: results_path needs it to tell the recipients' results apart")
		}
	}
	if !p.results.isPath {
		p.problem("results_path", "give a JSON path to a list, such as $.results")
	}
	if c.Has("result_code") && len(p.resultSuccess) == 0 {
		p.problem("result_success", "is missing: say which values of result_code mean success, such as 0")
	}
}

// checkIdempotency refuses a promise that the request does not keep: believed, it would make copies.
func (p *plan) checkIdempotency(c channel.Config) {
	if !c.Has("idempotency_window") {
		return
	}
	used := map[string]bool{}
	for _, t := range p.templates() {
		for _, leaf := range t.leaves() {
			used[leaf.name] = true
		}
	}
	switch {
	case p.batch > 1 && !used["idempotency_keys"] && !used["deliveries"]:
		p.problem("idempotency_window", "in a batch the provider recognises a repeated recipient only by ${idempotency_keys} or ${deliveries}; put one of them in the body")
	case p.batch == 1 && !used["idempotency_key"] && !used["idempotency_keys"] && !used["delivery"] && !used["deliveries"]:
		p.problem("idempotency_window", "the request carries no key that the provider could recognise; set idempotency_header or put ${idempotency_key} in the body")
	}
}

// templates lists all templates with placeholders.
func (p *plan) templates() []template {
	all := []template{p.url, p.body}
	for _, name := range slices.Sorted(maps.Keys(p.headers)) {
		all = append(all, p.headers[name])
	}
	return slices.DeleteFunc(all, template.static)
}
