package sms

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/clock"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// The codes that say more than a table can.
const (
	overLimit = "isv.BUSINESS_LIMIT_CONTROL" // one number has had enough; the text says of which window
	dayLimit  = "isv.DAY_LIMIT_CONTROL"      // the account has, of this day
	aliyunOK  = "OK"
	tencentOK = "Ok"
)

// aliyunCodes are Aliyun's codes: help.aliyun.com, 101346 and 101347, and its gateway's. A name that ends in a star is a family.
var aliyunCodes = errcode.Table{
	"Throttling":         {Class: posthouse.ClassRate, After: time.Second},
	"Throttling.*":       {Class: posthouse.ClassRate, After: time.Second},
	"ServiceUnavailable": {Class: posthouse.ClassTransient},
	"isp.SYSTEM_ERROR":   {Class: posthouse.ClassTransient},

	dayLimit:                  {Class: posthouse.ClassRate},
	"isv.MONTH_LIMIT_CONTROL": {Class: posthouse.ClassAccount},
	overLimit:                 {Class: posthouse.ClassTransient},

	"isv.OUT_OF_SERVICE":          {Class: posthouse.ClassAccount}, // balance, permission, sign
	"isv.AMOUNT_NOT_ENOUGH":       {Class: posthouse.ClassAccount},
	"isv.ACCOUNT_*":               {Class: posthouse.ClassAccount},
	"isv.PRODUCT_UN*":             {Class: posthouse.ClassAccount},
	"isv.DENY_IP_RANGE":           {Class: posthouse.ClassAccount},
	"isv.SMS_SIGN*":               {Class: posthouse.ClassAccount},
	"isv.SIGN_*":                  {Class: posthouse.ClassAccount},
	"isp.RAM_PERMISSION_DENY":     {Class: posthouse.ClassAccount},
	"isv.SECURITY_FROZEN_ACCOUNT": {Class: posthouse.ClassAccount},
	"NoPermission":                {Class: posthouse.ClassAccount},
	"Forbidden*":                  {Class: posthouse.ClassAccount},
	"InvalidAccessKeyId*":         {Class: posthouse.ClassAccount},
	"InvalidSecurityToken*":       {Class: posthouse.ClassAccount},
	"SignatureDoesNotMatch":       {Class: posthouse.ClassAccount},
	"IncompleteSignature":         {Class: posthouse.ClassAccount},
	"isv.INVALID_SHOW_NUMBER":     {Class: posthouse.ClassAccount}, // of calls

	"isv.MOBILE_NUMBER_ILLEGAL": {Class: posthouse.ClassRecipient},
	"isv.BLACK_*":               {Class: posthouse.ClassRecipient},
	"isv.CALLED_NUMBER_ILLEGAL": {Class: posthouse.ClassRecipient},

	"isv.SMS_TEMPLATE_*":              {Class: posthouse.ClassContent},
	"isv.SMS_CONTENT_*":               {Class: posthouse.ClassContent},
	"isv.TEMPLATE_*":                  {Class: posthouse.ClassContent},
	"isv.TTS_TEMPLATE_ILLEGAL":        {Class: posthouse.ClassContent},
	"isv.VOICE_FILE_ILLEGAL":          {Class: posthouse.ClassContent},
	"isv.PARAM_*":                     {Class: posthouse.ClassContent},
	"isv.BLACK_KEY_CONTROL_LIMIT":     {Class: posthouse.ClassContent}, // a word of a variable is on the black list
	"isv.INVALID_JSON_PARAM":          {Class: posthouse.ClassContent},
	"isv.INVALID_PARAMETERS":          {Class: posthouse.ClassRequest},
	"isv.MOBILE_COUNT_OVER_LIMIT":     {Class: posthouse.ClassRequest},
	"isv.EXTEND_CODE_ERROR":           {Class: posthouse.ClassRequest},
	"Missing*":                        {Class: posthouse.ClassRequest},
	"InvalidParameter*":               {Class: posthouse.ClassRequest},
	"InvalidAction*":                  {Class: posthouse.ClassRequest},
	"InvalidVersion":                  {Class: posthouse.ClassRequest},
	"UnsupportedHTTPMethod":           {Class: posthouse.ClassRequest},
	"isv.DOMESTIC_NUMBER_NOT_SUPPORT": {Class: posthouse.ClassRecipient}, // the template is one of another country's
}

// tencentCodes are Tencent's codes: cloud.tencent.com, document 382/55981, and those of its gateway.
var tencentCodes = errcode.Table{
	"RequestLimitExceeded*": {Class: posthouse.ClassRate, After: time.Second},
	"InternalError*":        {Class: posthouse.ClassTransient},
	// The carrier's side was asked, and did not answer: the message may be out.
	"InternalError.Timeout":         {Class: posthouse.ClassUnknown},
	"InternalError.SendAndRecvFail": {Class: posthouse.ClassUnknown},

	"LimitExceeded.AppDailyLimit":                {Class: posthouse.ClassRate},
	"LimitExceeded.AppMainlandChinaDailyLimit":   {Class: posthouse.ClassRate},
	"LimitExceeded.AppGlobalDailyLimit":          {Class: posthouse.ClassRate},
	"LimitExceeded.DailyLimit":                   {Class: posthouse.ClassRate},
	"LimitExceeded.AppCountryOrRegionDailyLimit": {Class: posthouse.ClassRate},
	"UnsupportedOperation.UnsupportedRegion":     {Class: posthouse.ClassRecipient},
	"LimitExceeded.GlobalSmsSendingRateLimit":    {Class: posthouse.ClassRate, After: time.Minute},

	"LimitExceeded.PhoneNumberThirtySecondLimit":          {Class: posthouse.ClassTransient, After: 30 * time.Second},
	"LimitExceeded.PhoneNumberOneHourLimit":               {Class: posthouse.ClassTransient, After: time.Hour},
	"LimitExceeded.PhoneNumberDailyLimit":                 {Class: posthouse.ClassTransient},
	"LimitExceeded.PhoneNumberSameContentDailyLimit":      {Class: posthouse.ClassTransient},
	"LimitExceeded.DeliveryFrequencyLimit":                {Class: posthouse.ClassTransient, After: time.Minute},
	"FailedOperation.MarketingSendTimeConstraint":         {Class: posthouse.ClassTransient},
	"LimitExceeded.AppCountryOrRegionInBlacklist":         {Class: posthouse.ClassRecipient},
	"LimitExceeded.PhoneNumberCountLimit":                 {Class: posthouse.ClassRequest},
	"UnsupportedOperation.ContainDomesticAndInternation*": {Class: posthouse.ClassRequest},
	"UnsupportedOperation.*":                              {Class: posthouse.ClassAccount},

	"AuthFailure*":           {Class: posthouse.ClassAccount},
	"UnauthorizedOperation*": {Class: posthouse.ClassAccount},
	"FailedOperation.InsufficientBalanceInSmsPackage":           {Class: posthouse.ClassAccount},
	"FailedOperation.SignatureIncorrectOrUnapproved":            {Class: posthouse.ClassAccount},
	"FailedOperation.ForbidAddMarketingTemplates":               {Class: posthouse.ClassAccount},
	"FailedOperation.JsonParseFail":                             {Class: posthouse.ClassRequest},
	"InvalidParameterValue.SdkAppIdNotExist":                    {Class: posthouse.ClassAccount},
	"FailedOperation.TemplateUnapprovedOrNotExist":              {Class: posthouse.ClassContent},
	"FailedOperation.TemplateIncorrectOrUnapproved":             {Class: posthouse.ClassContent},
	"FailedOperation.TemplateParamSetNotMatchApprovedTemplate":  {Class: posthouse.ClassContent},
	"FailedOperation.ContainSensitiveWord":                      {Class: posthouse.ClassContent},
	"InvalidParameterValue.ContentLengthLimit":                  {Class: posthouse.ClassContent},
	"InvalidParameterValue.Template*":                           {Class: posthouse.ClassContent},
	"InvalidParameterValue.ProhibitedUseUrlInTemplateParameter": {Class: posthouse.ClassContent},
	"InvalidParameterValue.ProhibitUseUrl*":                     {Class: posthouse.ClassContent},
	"FailedOperation.PhoneNumberInBlacklist":                    {Class: posthouse.ClassRecipient},
	"FailedOperation.PhoneNumberOnBlacklist":                    {Class: posthouse.ClassRecipient},
	"FailedOperation.PhoneNumberParseFail":                      {Class: posthouse.ClassRecipient},
	"InvalidParameterValue.IncorrectPhoneNumber":                {Class: posthouse.ClassRecipient},
	"InvalidParameter*":                                         {Class: posthouse.ClassRequest},
	"MissingParameter*":                                         {Class: posthouse.ClassRequest},
	"UnknownParameter*":                                         {Class: posthouse.ClassRequest},
	"InvalidAction*":                                            {Class: posthouse.ClassRequest},
}

// clockCodes are what the providers say to a signature whose time is not theirs: Aliyun beyond 15 minutes, Tencent beyond 5, and its
// sender beyond 10.
var clockCodes = []string{"InvalidTimeStamp.", "IllegalTimestamp", "AuthFailure.SignatureExpire", "InternalError.RequestTimeException"}

// meaningOf is what a code means: by its own name, or by the longest family that it belongs to.
func meaningOf(table errcode.Table, code string, own map[string]posthouse.Class) errcode.Meaning {
	name, length := code, 0
	if _, known := table[code]; !known {
		for entry := range table {
			if family, is := strings.CutSuffix(entry, "*"); is && strings.HasPrefix(code, family) && len(entry) > length {
				name, length = entry, len(entry)
			}
		}
	}
	if class, ok := own[code]; ok {
		return errcode.Meaning{Class: class}
	}
	return table.Of(name, nil)
}

// failure is the verdict on a code of a provider's.
func failure(provider string, table errcode.Table, r *channel.Reply, code, message string, own map[string]posthouse.Class, now time.Time) channel.Verdict {
	for _, prefix := range clockCodes {
		if _, overridden := own[code]; !overridden && strings.HasPrefix(code, prefix) {
			return channel.Verdict{Class: posthouse.ClassLocal, Code: clock.Code, Message: provider + " refuses the time of the signature (" + code + "): " + cmp.Or(clock.Off(r, now), "set this machine's clock, and keep it by NTP")}
		}
	}
	m := meaningOf(table, code, own)
	v := channel.Verdict{Class: m.Class, After: m.After, Code: code, Message: cmp.Or(message, provider+" answered with code "+code)}
	if v.After == 0 && (v.Class == posthouse.ClassRate || v.Class == posthouse.ClassTransient) {
		v.After = waitOf(code, message, now)
	}
	return v
}

// beijing is the time zone of the providers' days.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// window is how Aliyun says which window a number has filled: 触发小时级流控Permits:5.
var window = regexp.MustCompile(`(分钟|小时|天|minute|hour|day)`)

// waitOf is the wait that a code means which names none.
func waitOf(code, message string, now time.Time) time.Duration {
	y, m, d := now.In(beijing).Date()
	tomorrow := time.Date(y, m, d+1, 0, 0, 0, 0, beijing).Sub(now)
	switch {
	case code == overLimit:
		switch window.FindString(message) {
		case "小时", "hour":
			return time.Hour
		case "天", "day":
			return 24 * time.Hour // which goes round the clock
		}
		return time.Minute
	case strings.HasSuffix(code, "MarketingSendTimeConstraint"): // from 8 to 22
		morning := time.Date(y, m, d, 8, 0, 0, 0, beijing).Sub(now)
		if morning <= 0 {
			morning += 24 * time.Hour
		}
		return morning
	case strings.Contains(code, "Daily"), code == dayLimit:
		return tomorrow
	}
	return 0
}
