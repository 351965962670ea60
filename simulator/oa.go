package simulator

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// oaCodes are the codes of our fake OA, which answers in lines of text.
var oaCodes = map[Code]string{
	Malformed: "E01", UnknownUser: "E02", RefusedContent: "E03", TooFast: "E04", Busy: "E05",
}

// oaCall is a call as XML, whatever its root element is called.
type oaCall struct {
	To      string `xml:"to"`
	Subject string `xml:"subject"`
	Body    string `xml:"body"`
	Ref     string `xml:"ref"`
}

func readOA(r *http.Request, body []byte) (order, *refusal) {
	in, err := parseOA(mediaType(r), body)
	switch {
	case err != nil:
		return order{}, malformed("the body is neither a form nor XML: %v", err)
	case in.To == "":
		return order{}, malformed("to is missing")
	case in.Body == "":
		return order{}, malformed("body is missing")
	}
	return order{messages: []message{{user: in.To, title: in.Subject, text: in.Body, key: in.Ref}}}, nil
}

func parseOA(kind string, body []byte) (oaCall, error) {
	if strings.HasSuffix(kind, "xml") {
		var in oaCall
		err := xml.Unmarshal(body, &in)
		return in, err
	}
	form, err := url.ParseQuery(string(body))
	return oaCall{form.Get("to"), form.Get("subject"), form.Get("body"), form.Get("ref")}, err
}

func answerOA(results []result) reply {
	line := "OK|" + results[0].id
	if ref := results[0].refusal; ref != nil {
		line = "ERR|" + oaCodes[ref.code] + "|" + strings.NewReplacer("|", "/", "\n", " ").Replace(ref.text)
		if ref.wait > 0 {
			line += fmt.Sprintf("|%d", ref.wait)
		}
	}
	return reply{kind: "text/plain; charset=utf-8", body: line}
}
