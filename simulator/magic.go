package simulator

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// trick is what a recipient with a speaking name does.
type trick struct {
	name string
	// number is a mobile number, as people in mainland China write it, that acts so on a phone.
	number string
	// times is how often it happens to one message, 0 for each time.
	times int
	fault Fault
	// en and zh tell it on the page.
	en, zh string
}

// tricks are the magic recipients. A user is one of them if it has the name,
// or the name and a hyphen before anything else: lost-answer, lost-answer-7.
var tricks = []trick{
	{"fail-recipient", "13900000001", 0, Fault{Kind: Business, Code: UnknownUser},
		"refused each time: no such user", "每次都拒绝：用户不存在"},
	{"refuse-content", "13900000002", 0, Fault{Kind: Business, Code: RefusedContent},
		"refused each time: content not allowed", "每次都拒绝：内容不合规"},
	{"busy-twice", "13900000003", 2, Fault{Kind: Business, Code: Busy},
		"busy twice for each message, then accepted", "每条消息先忙两次，之后接受"},
	{"always-busy", "13900000004", 0, Fault{Kind: Business, Code: Busy},
		"busy each time", "每次都答系统忙"},
	{"too-fast", "13900000005", 1, Fault{Kind: Business, Code: TooFast, RetryAfter: 1},
		"too fast once for each message (wait 1 s), then accepted", "每条消息先答一次过快（等 1 秒），之后接受"},
	{"rate-limited", "13900000006", 1, Fault{Kind: RateLimited, RetryAfter: 1},
		"HTTP 429, Retry-After: 1, once for each message, then accepted", "每条消息先答一次 HTTP 429（Retry-After: 1），之后接受"},
	{"server-error", "13900000007", 0, Fault{Kind: ServerError},
		"HTTP 503 each time", "每次都答 HTTP 503"},
	{"cut-before", "13900000008", 1, Fault{Kind: CutBefore},
		"connection cut once for each message before it is taken, then accepted", "每条消息先断开一次（未收下），之后接受"},
	{"lost-answer", "13900000009", 1, Fault{Kind: CutAfter},
		"taken, then the connection is cut, once for each message", "每条消息收下后断开一次，不给应答"},
	{"garbage", "13900000010", 1, Fault{Kind: Garbage},
		"taken, then answered with rubbish, once for each message", "每条消息收下后答一次乱码"},
	{"hang", "13900000011", 1, Fault{Kind: Hang},
		"taken, never answered, once for each message", "每条消息收下后有一次始终不应答"},
	{"slow", "13900000012", 0, Fault{Kind: Latency, Latency: posthouse.Duration(2 * time.Second)},
		"accepted after 2 s", "2 秒后接受"},
	{"redirect", "13900000013", 0, Fault{Kind: Redirect},
		"HTTP 302 to /login each time", "每次都 302 跳转到 /login"},
}

// trickOf finds the trick a user's name asks for, nil for an ordinary name.
func trickOf(user string) *trick {
	for i := range tricks {
		rest, ok := strings.CutPrefix(user, tricks[i].name)
		if ok && (rest == "" || rest[0] == '-') {
			return &tricks[i]
		}
	}
	return nil
}

// actOf is the name of the trick that a number asks for, empty for an ordinary one.
func actOf(number string) string {
	number = strings.NewReplacer(" ", "", "-", "").Replace(number)
	number = strings.TrimPrefix(number, "+86")
	for _, t := range tricks {
		if t.number == number {
			return t.name
		}
	}
	return ""
}
