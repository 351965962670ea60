package wecom

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// fixed are the members of a call that the driver and the channel's settings decide.
func fixed() []string {
	return []string{
		"touser", "toparty", "totag", "agentid", "msgtype", "text", "markdown", "image", "voice", "video", "file", "textcard", "news", "template_card",
		"safe", "enable_duplicate_check", "duplicate_check_interval",
	}
}

// passes says whether the extra of a content stands beside it in the call: that of news, a card and a template is the content.
func passes(kind posthouse.ContentType) bool {
	return kind == posthouse.TextContent || kind == posthouse.MarkdownContent || kind.HasMedia()
}

// checkExtra refuses members of a call that are not a content's to say.
func checkExtra(c posthouse.Content, kind posthouse.ContentType) []posthouse.Problem {
	if len(c.Extra) == 0 || !passes(kind) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.Extra, &members); err != nil {
		return []posthouse.Problem{{Path: "content.extra", Message: "is no object"}}
	}
	var problems []posthouse.Problem
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(fixed(), name) {
			problems = append(problems, posthouse.Problem{Path: "content.extra." + name, Message: fmt.Sprintf("cannot be said here: %s comes from the message and the channel's config", name)})
		}
	}
	return problems
}

// withExtra is the body of a call with the members that a content adds, such as enable_id_trans.
func withExtra(body []byte, c posthouse.Content, kind posthouse.ContentType) []byte {
	if len(c.Extra) == 0 || !passes(kind) {
		return body
	}
	var members, own map[string]json.RawMessage
	if json.Unmarshal(c.Extra, &members) != nil || json.Unmarshal(body, &own) != nil {
		return body // it was checked when the message was accepted
	}
	maps.Copy(members, own)
	whole, err := json.Marshal(members) // sorted: a repeated call is the same
	if err != nil {
		return body
	}
	return whole
}
