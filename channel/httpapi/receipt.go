package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// awaited is how long a provider's receipt is waited for. Nobody can ask for it.
const awaited = 24 * time.Hour

// What a receipt is written in.
const (
	receiptJSON  = "json"
	receiptLines = "json_lines"
	receiptForm  = "form"
)

func receiptFields() []channel.Field {
	return []channel.Field{{
		Name: "receipt_id", Kind: channel.KindString, Label: "Receipt: message id", LabelZH: "回执：平台消息编号",
		Help:   "Within a report, as the answer to a message has it, such as $.msgid. With it the provider may bring receipts to an address of the channel's: posthouse channel callbacks.",
		HelpZH: "单条回执中的平台消息编号（与“平台消息编号的位置”取到的一致），例如 $.msgid。设置后平台可以把回执推送到渠道的回调地址：posthouse channel callbacks。",
	}, {
		Name: "receipt_path", Kind: channel.KindString, Label: "Receipt: where reports stand", LabelZH: "回执：列表的位置", Default: "$",
		Help: "A JSON path to a report or a list of them; * is each member.", HelpZH: "回执或回执列表的 JSON 路径；* 表示每个成员。",
	}, {
		Name: "receipt_encoding", Kind: channel.KindChoice, Label: "Receipt: encoding", LabelZH: "回执：编码",
		Default: receiptJSON, Choices: []channel.Choice{
			{Value: receiptJSON, Label: "JSON", LabelZH: "JSON"},
			{Value: receiptLines, Label: "JSON, a report a line", LabelZH: "每行一条 JSON"},
			{Value: receiptForm, Label: "Form (URL-encoded)", LabelZH: "表单（URL 编码）"},
		},
	}, {
		Name: "receipt_address", Kind: channel.KindString, Label: "Receipt: recipient", LabelZH: "回执：收件人",
		Help: "Where one message id stands for several.", HelpZH: "一个消息编号对应多个收件人时填写。",
	}, {
		Name: "receipt_state", Kind: channel.KindString, Label: "Receipt: state", LabelZH: "回执：状态的位置",
	}, {
		Name: "receipt_delivered", Kind: channel.KindList, Label: "Receipt: words for delivered", LabelZH: "回执：表示送达的取值",
	}, {
		Name: "receipt_failed", Kind: channel.KindList, Label: "Receipt: words for undelivered", LabelZH: "回执：表示未送达的取值",
		Help: "Other words say nothing yet. A * is all that are not delivered.", HelpZH: "其他取值视为尚无结果；* 表示送达以外的全部取值。",
	}, {
		Name: "receipt_code", Kind: channel.KindString, Label: "Receipt: error code", LabelZH: "回执：错误码",
		Help: "Defaults to the state.", HelpZH: "默认取状态。",
	}, {
		Name: "receipt_message", Kind: channel.KindString, Label: "Receipt: error message", LabelZH: "回执：错误信息",
	}, {
		Name: "receipt_signature", Kind: channel.KindString, Label: "Receipt: its signature", LabelZH: "回执：签名",
		Help:   "Where the provider's signature stands: ${header.X-Signature}, ${query.sign} or ${report.sign}.",
		HelpZH: "平台签名所在的位置：${header.X-Signature}、${query.sign} 或 ${report.sign}。",
	}, {
		Name: "receipt_expects", Kind: channel.KindString, Label: "Receipt: what the signature must be", LabelZH: "回执：签名的计算方式",
		Help:   "Such as ${hex(hmac_sha256(secret.callback, body))}. Names are body, header.<name>, query.<name>, report.<path>, secrets and values. A receipt whose signature is another is refused.",
		HelpZH: "例如 ${hex(hmac_sha256(secret.callback, body))}。可用 body、header.<名称>、query.<名称>、report.<路径>、密钥和参数值。签名不符的回执会被拒绝。",
	}, {
		Name: "receipt_answer", Kind: channel.KindText, Label: "Receipt: answer", LabelZH: "回执：应答内容",
		Help: "What the provider waits for. Defaults to nothing.", HelpZH: "平台要求的应答。默认为空。",
	}, {
		Name: "receipt_echo", Kind: channel.KindString, Label: "Receipt: echo", LabelZH: "回执：回显参数",
		Help: "The query parameter that is answered as it is, where the provider looks first whether the address is ours.", HelpZH: "平台先用 GET 校验地址时，需要原样返回的查询参数名称。",
	}}
}

// receiptPlan is how a receipt is read.
type receiptPlan struct {
	encoding                         string
	list                             path
	id, address, state, code, saying picker
	delivered, failed                []string
	signature, expects               template
	signed                           bool
	answer, echo                     string
}

// newReceipt reads the fields of receipts, nil where the provider brings none.
func (p *plan) newReceipt(c channel.Config) *receiptPlan {
	if !c.Has("receipt_id") {
		for _, f := range receiptFields() {
			if f.Default == nil && c.Has(f.Name) {
				p.problem(f.Name, "has no effect without receipt_id")
			}
		}
		return nil
	}
	r := &receiptPlan{
		encoding: c.String("receipt_encoding"), delivered: c.List("receipt_delivered"), failed: c.List("receipt_failed"),
		answer: c.String("receipt_answer"), echo: c.String("receipt_echo"), signed: c.Has("receipt_expects"),
	}
	var err error
	if r.list, err = parsePath(c.String("receipt_path")); err != nil {
		p.problem("receipt_path", err.Error())
	}
	for field, to := range map[string]*picker{"receipt_id": &r.id, "receipt_address": &r.address, "receipt_state": &r.state, "receipt_code": &r.code, "receipt_message": &r.saying} {
		if *to, err = parsePicker(c.String(field)); err != nil {
			p.problem(field, err.Error())
		} else if to.pattern != nil {
			p.problem(field, "give a JSON path, such as $.msgid")
		}
	}
	syn := syntax{place: render.Plain, secrets: p.syntax.secrets, values: p.syntax.values, callback: true}
	r.signature = p.template("receipt_signature", c.String("receipt_signature"), syn)
	r.expects = p.template("receipt_expects", c.String("receipt_expects"), syn)
	r.check(p, c)
	return r
}

// check finds fields that are missing.
func (r *receiptPlan) check(p *plan, c channel.Config) {
	if !c.Has("id_path") && !c.Has("result_id") {
		p.problem("receipt_id", "id_path is missing: it says where the answer to a message has the id that receipts name")
	}
	if !c.Has("receipt_state") {
		p.problem("receipt_state", "is missing: say where a report has its state, such as $.status")
	}
	if len(r.delivered)+len(r.failed) == 0 {
		p.problem("receipt_delivered", "is missing: say which words mean that a message has arrived")
	}
	if r.signed != c.Has("receipt_signature") {
		p.problem("receipt_signature", "stands with receipt_expects, and neither without the other")
	}
	if r.signed && r.expects.static() {
		p.problem("receipt_expects", "is the same for each receipt: it must be made of body, or of a report's members")
	}
}

// Receive verifies a receipt, and reads what became of messages.
func (d *driver) Receive(c channel.Callback) (channel.Heard, error) {
	r := d.receipt
	switch {
	case r == nil:
		return channel.Heard{}, fmt.Errorf("%w: the channel is not set up for receipts (receipt_id)", channel.ErrForged)
	case c.Method == http.MethodGet && r.echo != "":
		return channel.Heard{Kind: "check", Answer: c.Query.Get(r.echo)}, nil
	}
	list, err := r.reports(c)
	if err != nil {
		return channel.Heard{}, fmt.Errorf("%w: %w", channel.ErrForged, err)
	}
	sum := sha256.Sum256(append([]byte(c.Query.Encode()+"\n"), c.Body...))
	heard := channel.Heard{Kind: "receipt", Answer: r.answer, Once: hex.EncodeToString(sum[:])}
	for _, raw := range list {
		if err := r.verify(&c, raw); err != nil {
			return channel.Heard{}, fmt.Errorf("%w: %w", channel.ErrForged, err)
		}
		if report, said := r.report(raw); said {
			heard.Reports = append(heard.Reports, report)
		}
	}
	return heard, nil
}

// reports are the reports of a callback, as JSON.
func (r *receiptPlan) reports(c channel.Callback) (list [][]byte, err error) {
	docs := [][]byte{c.Body}
	switch {
	case r.encoding == receiptLines:
		docs = bytes.Split(bytes.TrimSpace(c.Body), []byte("\n"))
	case r.encoding == receiptForm:
		if docs[0], err = formAsJSON(c); err != nil {
			return nil, err
		}
	}
	for _, doc := range docs {
		if !json.Valid(doc) {
			return nil, fmt.Errorf("its body is not JSON")
		}
		for _, found := range r.list.findAll(doc) {
			if found = trim(found); len(found) > 1 && found[0] == '"' && json.Valid([]byte(text(found))) {
				found = trim([]byte(text(found))) // JSON that stands in a field of a form
			}
			if len(found) == 0 || found[0] != '[' {
				list = append(list, found)
				continue
			}
			each(found, func(_, item []byte) { list = append(list, item) })
		}
	}
	return list, nil
}

// formAsJSON is a form, in the body or in the query, as an object of texts.
func formAsJSON(c channel.Callback) ([]byte, error) {
	form, err := url.ParseQuery(string(c.Body))
	if err != nil {
		return nil, fmt.Errorf("its body is not a form")
	}
	texts := map[string]string{}
	for _, from := range []url.Values{c.Query, form} {
		for name := range from {
			texts[name] = from.Get(name)
		}
	}
	return json.Marshal(texts)
}

// verify compares the signature of a report with what it must be.
func (r *receiptPlan) verify(c *channel.Callback, report []byte) error {
	if !r.signed {
		return nil
	}
	s := &scope{outs: make([]channel.Outgoing, 1), now: c.At, callback: c, report: report}
	got, err := r.signature.render(s)
	if err != nil {
		return err
	}
	want, err := r.expects.render(s)
	if err != nil {
		return err
	}
	if len(got) == 0 || subtle.ConstantTimeCompare(got, want) != 1 {
		return fmt.Errorf("its signature is missing or another than receipt_expects says")
	}
	return nil
}

// report reads one report. It says nothing where its state is none of the words, or it names no message.
func (r *receiptPlan) report(raw []byte) (out channel.Report, said bool) {
	a := answer{body: raw, whole: true, json: true}
	out.Ref, _ = r.id.text(a)
	out.Address, _ = r.address.text(a)
	state, found := r.state.text(a)
	switch {
	case !found || out.Ref == "":
		return out, false
	case slices.ContainsFunc(r.delivered, func(word string) bool { return strings.EqualFold(word, state) }):
		out.Known, out.Delivered = true, true
	case slices.ContainsFunc(r.failed, func(word string) bool { return word == "*" || strings.EqualFold(word, state) }):
		out.Known = true
		if out.Code, _ = r.code.text(a); out.Code == "" {
			out.Code = state
		}
		if out.Error, _ = r.saying.text(a); out.Error == "" {
			out.Error = "the provider did not deliver it: " + state
		}
	}
	return out, out.Known
}

// awaiting has those who were served wait for their receipts.
func (d *driver) awaiting(results []channel.Result) []channel.Result {
	if d.receipt == nil {
		return results
	}
	for i := range results {
		if results[i].Class == posthouse.ClassOK && results[i].Ref != "" {
			results[i].Await = awaited
		}
	}
	return results
}

// Track answers nothing: the provider says by itself what became of a message, or never.
func (d *driver) Track(_ context.Context, _ string, to []posthouse.Recipient) ([]channel.Receipt, error) {
	return make([]channel.Receipt, len(to)), nil
}
