package apns

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/clock"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// reasons are Apple's. A reason says that nothing was accepted.
var reasons = errcode.Table{
	"BadDeviceToken":              {Class: posthouse.ClassRecipient},
	"DeviceTokenNotForTopic":      {Class: posthouse.ClassRecipient},
	"MissingDeviceToken":          {Class: posthouse.ClassRecipient},
	"Unregistered":                {Class: posthouse.ClassRecipient},
	"ExpiredToken":                {Class: posthouse.ClassRecipient},
	"PayloadTooLarge":             {Class: posthouse.ClassContent},
	"PayloadEmpty":                {Class: posthouse.ClassContent},
	"BadCollapseId":               {Class: posthouse.ClassRequest},
	"BadExpirationDate":           {Class: posthouse.ClassRequest},
	"BadMessageId":                {Class: posthouse.ClassRequest},
	"BadPath":                     {Class: posthouse.ClassRequest},
	"BadPriority":                 {Class: posthouse.ClassRequest},
	"DuplicateHeaders":            {Class: posthouse.ClassRequest},
	"InvalidPushType":             {Class: posthouse.ClassRequest},
	"MethodNotAllowed":            {Class: posthouse.ClassRequest},
	"BadTopic":                    {Class: posthouse.ClassAccount},
	"MissingTopic":                {Class: posthouse.ClassAccount},
	"TopicDisallowed":             {Class: posthouse.ClassAccount},
	"BadCertificate":              {Class: posthouse.ClassAccount},
	"BadCertificateEnvironment":   {Class: posthouse.ClassAccount},
	"BadEnvironmentKeyInToken":    {Class: posthouse.ClassAccount},
	"BadEnvironmentKeyIdInToken":  {Class: posthouse.ClassAccount},
	"UnrelatedKeyIdInToken":       {Class: posthouse.ClassAccount},
	"Forbidden":                   {Class: posthouse.ClassAccount},
	"InvalidProviderToken":        {Class: posthouse.ClassAccount},
	"MissingProviderToken":        {Class: posthouse.ClassAccount},
	expiredProviderToken:          {Class: posthouse.ClassAuth},
	"IdleTimeout":                 {Class: posthouse.ClassTransient},
	"TooManyRequests":             {Class: posthouse.ClassTransient, After: time.Minute}, // for this device alone
	"TooManyProviderTokenUpdates": {Class: posthouse.ClassRate, After: 20 * time.Minute},
	"InternalServerError":         {Class: posthouse.ClassUnknown}, // it does not say that nothing was accepted
	"ServiceUnavailable":          {Class: posthouse.ClassTransient},
	"Shutdown":                    {Class: posthouse.ClassTransient},
}

// expiredProviderToken is the reason for a token that is older than an hour, by Apple's clock.
const expiredProviderToken = "ExpiredProviderToken"

// read finds out what became of a notification, and whether our token is good.
func (d *driver) read(r *channel.Reply, now time.Time) (channel.Result, access.Answer) {
	switch {
	case r.OK() && len(r.Body) > 0:
		return r.Result(channel.Verdict{Class: posthouse.ClassUnknown, Message: "the answer is not Apple's, which is empty, so nobody knows who has accepted"}), access.Fine
	case r.OK():
		return r.Result(channel.Verdict{Class: posthouse.ClassOK, Code: "200", Ref: r.Header.Get("Apns-Id")}), access.Fine
	}
	var said struct {
		Reason string `json:"reason"`
	}
	if r.Err != nil || r.Status == 0 || json.Unmarshal(r.Body, &said) != nil || said.Reason == "" {
		return r.Result(errcode.Ended(r, d.codes)), access.Fine
	}
	v := reasons.RefusedBy(r, "Apple", said.Reason, "", d.codes)
	answer := access.Fine
	if said.Reason == expiredProviderToken {
		answer = access.Again
		if why := clock.Off(r, now); why != "" {
			v.Class, v.Code, v.Message, answer = posthouse.ClassLocal, clock.Code, "Apple refuses the time of our token: "+why, access.Fine
		}
	}
	result := r.Result(v)
	// Apple says 410 where the app was removed; a token that is none may be of the other environment.
	result.Gone = r.Status == http.StatusGone && result.Class == posthouse.ClassRecipient
	return result, answer
}
