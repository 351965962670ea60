package wechat

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// usedUp is the code of the day's quota, which begins anew at midnight in China.
const usedUp = "45009"

// beijing is the time zone of WeChat's days.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// sendCodes are WeChat's codes for messages. With client_msg_id a repeated call is recognised, so that what may have been
// accepted may be sent again.
var sendCodes = errcode.Table{
	"-1": {Class: posthouse.ClassTransient}, // busy; also the answer to a burst

	usedUp:  {Class: posthouse.ClassRate},
	"45011": {Class: posthouse.ClassRate, After: time.Minute},

	"40001": {Class: posthouse.ClassAuth},
	"40014": {Class: posthouse.ClassAuth},
	"41001": {Class: posthouse.ClassAuth},
	"42001": {Class: posthouse.ClassAuth},

	"40013": {Class: posthouse.ClassAccount}, // account, secret, address, permission
	"40125": {Class: posthouse.ClassAccount},
	"40164": {Class: posthouse.ClassAccount},
	"41002": {Class: posthouse.ClassAccount},
	"41004": {Class: posthouse.ClassAccount},
	"48001": {Class: posthouse.ClassAccount},
	"48004": {Class: posthouse.ClassAccount},
	"50001": {Class: posthouse.ClassAccount},
	"50002": {Class: posthouse.ClassAccount},
	"61007": {Class: posthouse.ClassAccount},

	"40003": {Class: posthouse.ClassRecipient}, // no such follower, or one who refuses
	"43004": {Class: posthouse.ClassRecipient},
	"43005": {Class: posthouse.ClassRecipient},
	"43019": {Class: posthouse.ClassRecipient},
	"43101": {Class: posthouse.ClassRecipient},
	"48002": {Class: posthouse.ClassRecipient},
	"50005": {Class: posthouse.ClassRecipient},

	"40037": {Class: posthouse.ClassContent}, // no such template
	"44002": {Class: posthouse.ClassContent},
	"45002": {Class: posthouse.ClassContent},
	"47001": {Class: posthouse.ClassContent},
	"47003": {Class: posthouse.ClassContent}, // the template's parameters
}

// tokenCodes differ where a token is fetched: the secret is wrong then, and not a token.
var tokenCodes = errcode.Table{
	"-1":    {Class: posthouse.ClassTransient},
	usedUp:  {Class: posthouse.ClassRate},
	"45011": {Class: posthouse.ClassRate, After: time.Minute},
	"40001": {Class: posthouse.ClassAccount},
	"40002": {Class: posthouse.ClassAccount},
	"40013": {Class: posthouse.ClassAccount},
	"40125": {Class: posthouse.ClassAccount},
	"40164": {Class: posthouse.ClassAccount},
	"41002": {Class: posthouse.ClassAccount},
	"41004": {Class: posthouse.ClassAccount},
	"89503": {Class: posthouse.ClassAccount}, // the address waits for the administrator's confirmation
}

// untilMidnight puts the wait into the verdict on a quota that is used up.
func untilMidnight(v *channel.Verdict, now time.Time) {
	if v.Code != usedUp || v.Class != posthouse.ClassRate {
		return
	}
	y, m, d := now.In(beijing).Date()
	v.After = time.Date(y, m, d+1, 0, 0, 0, 0, beijing).Sub(now)
}
