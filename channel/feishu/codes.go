package feishu

import (
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// codes are Feishu's. Those of 2300xx whose text no page of Feishu's lists are taken from its own programs.
var codes = errcode.Table{
	"99991400": {Class: posthouse.ClassRate, After: time.Minute}, // the header says how long
	"11232":    {Class: posthouse.ClassRate, After: 45 * time.Second},
	"230020":   {Class: posthouse.ClassTransient, After: time.Second}, // of one chat

	"99991661": {Class: posthouse.ClassAuth},
	"99991663": {Class: posthouse.ClassAuth},
	"99991664": {Class: posthouse.ClassAuth},
	"99991668": {Class: posthouse.ClassAuth},
	"99991671": {Class: posthouse.ClassAuth},
	"99991677": {Class: posthouse.ClassAuth},

	"10003":    {Class: posthouse.ClassAccount}, // a wrong app_id
	"10014":    {Class: posthouse.ClassAccount}, // a wrong app_secret
	"10015":    {Class: posthouse.ClassAccount},
	"11205":    {Class: posthouse.ClassAccount}, // the application has no bot
	"232025":   {Class: posthouse.ClassAccount},
	"99991543": {Class: posthouse.ClassAccount},
	"99991662": {Class: posthouse.ClassAccount},
	"99991672": {Class: posthouse.ClassAccount}, // it lacks a right
	"99991673": {Class: posthouse.ClassAccount},
	"99991676": {Class: posthouse.ClassAccount},

	"230002": {Class: posthouse.ClassRecipient}, // the bot is not in the chat
	"230013": {Class: posthouse.ClassRecipient}, // the bot is not there for this person
	"230025": {Class: posthouse.ClassContent},   // too long
	"230028": {Class: posthouse.ClassContent},   // refused by Feishu's audit
	"230001": {Class: posthouse.ClassRequest},
	"9499":   {Class: posthouse.ClassRequest},
}

// longestWait bounds what the header of a refusal may ask for.
const longestWait = time.Hour

// waitOf is how long Feishu asks to wait: x-ogw-ratelimit-reset, in seconds.
func waitOf(r *channel.Reply) time.Duration {
	seconds, err := strconv.Atoi(r.Header.Get("X-Ogw-Ratelimit-Reset"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}
