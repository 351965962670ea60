package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/sms"
)

// The most numbers in a call of Aliyun's and of Tencent's.
const (
	aliyunNumbers  = 1000
	tencentNumbers = 200
)

// aliyunCodes are Aliyun's, of messages and of calls.
var aliyunCodes = map[Code]string{
	UnknownUser: "isv.MOBILE_NUMBER_ILLEGAL", RefusedContent: "isv.SMS_CONTENT_ILLEGAL", Malformed: "isv.INVALID_PARAMETERS", TooFast: "Throttling.User",
	Busy: "isp.SYSTEM_ERROR", Unauthorized: "SignatureDoesNotMatch",
}

// tencentCodes are Tencent's.
var tencentCodes = map[Code]string{
	UnknownUser: "InvalidParameterValue.IncorrectPhoneNumber", RefusedContent: "FailedOperation.ContainSensitiveWord", Malformed: "InvalidParameter",
	TooFast: "LimitExceeded.DeliveryFrequencyLimit", Busy: "InternalError.OtherError", Unauthorized: "AuthFailure.SignatureFailure",
}

// texting are those who send text messages: any access key has the one secret, and any template and sign is approved that does not begin
// with "wrong".
type texting struct {
	secret string

	mu      sync.Mutex
	numbers recent[string, *numberWindows]
}

// numberWindows are what one number gets of codes (验证码).
type numberWindows struct{ minute, hour, day *window }

// The limits of codes for one number: help.aliyun.com, 44335.
const (
	codesAMinute = 1
	codesAnHour  = 5
	codesADay    = 10
	maxNumbers   = 100_000 // are remembered
)

func newTexting(o Options) *texting {
	t := &texting{secret: cmp.Or(o.SMSSecret, SMSSecret)}
	t.forget()
	return t
}

func (s *texting) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers = newRecent[string, *numberWindows](maxNumbers)
}

// admit counts a code to a number, and says which window is full: 分钟, 小时 or 天, and of how many.
func (s *texting) admit(number string, now time.Time) (full string, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.numbers.byKey[number]
	if w == nil {
		of := func(most int, per time.Duration) *window {
			return newWindow(&Limit{Max: most, Per: posthouse.Duration(per)})
		}
		w = &numberWindows{of(codesAMinute, time.Minute), of(codesAnHour, time.Hour), of(codesADay, 24*time.Hour)}
		s.numbers.put(number, w)
	}
	switch {
	case w.minute.wait(now) > 0:
		return "分钟", codesAMinute
	case w.hour.wait(now) > 0:
		return "小时", codesAnHour
	case w.day.wait(now) > 0:
		return "天", codesADay
	}
	w.minute.note(now)
	w.hour.note(now)
	w.day.note(now)
	return "", 0
}

// reportNumbers are numbers whose report is another than that it arrived, as those of receiptsOf are.
var reportNumbers = map[string]string{
	"13900000021": "receipt-fail", "13900000022": "receipt-never", "13900000023": "receipt-twice", "13900000024": "receipt-late",
}

// reportsOf is after which waits the report on a number comes, and whether it says that the message arrived.
func reportsOf(number string) (after []time.Duration, delivered bool) {
	name := reportNumbers[strings.TrimPrefix(number, "+86")]
	return receiptsOf(name), name != "receipt-fail"
}

// telling tells what became of each message that was taken.
func telling(back *caller, report func(a *Arrival, delivered bool) string) func([]Arrival) {
	return func(arrivals []Arrival) {
		for i := range arrivals {
			a := &arrivals[i]
			after, delivered := reportsOf(a.User)
			for _, wait := range after {
				if a.taken() {
					back.tellAfter(wait, report(a, delivered))
				}
			}
		}
	}
}

func smsAliyun(o Options, back *caller) provider {
	s := newTexting(o)
	p := provider{
		name: "sms_aliyun", title: "Aliyun SMS and voice", titleZH: "阿里云短信与语音", path: "/sms_aliyun/", prefix: "al",
		read: s.readAliyun, status: gatewayStatus, answer: answerAliyun,
		more: &more{settle: wholly, forget: s.forget, back: back, hosts: []string{"dysmsapi.aliyuncs.com", "dyvmsapi.aliyuncs.com"}},
	}
	p.more.taken = telling(back, aliyunReport)
	return p
}

// aliyunReport is what Aliyun pushes of a message, or of a call.
func aliyunReport(a *Arrival, delivered bool) string {
	if strings.HasPrefix(a.Title, "TTS_") {
		status, said := "200000", "用户接听"
		if !delivered {
			status, said = "200002", "用户占线"
		}
		return jsonLine([]any{map[string]string{"call_id": a.ID, "status_code": status, "status_msg": said, "callee": a.User, "out_id": a.Key}})
	}
	code, said := "DELIVERED", "用户接收成功"
	if !delivered {
		code, said = "MOBILE_SEND_LIMIT", "单个号码日、月发送上限或流控限制"
	}
	out := a.Key
	number := strings.TrimPrefix(a.User, "+86")
	if strings.HasPrefix(number, "+") {
		out, number = "+"+out, number[1:]
	}
	return jsonLine([]any{map[string]any{
		"phone_number": number, "send_time": a.At.In(beijing).Format(time.DateTime), "report_time": a.At.In(beijing).Format(time.DateTime),
		"success": delivered, "err_code": code, "err_msg": said, "sms_size": strconv.Itoa(max(1, sms.Parts(a.Text).Parts)), "biz_id": a.ID, "out_id": out,
	}})
}

// gatewayStatus is the status of providers whose gateway refuses what is not signed, and whose senders answer 200 whatever happens.
func gatewayStatus(code Code) int {
	if code == Unauthorized {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (s *texting) readAliyun(r *http.Request, body []byte) (order, *refusal) {
	now := time.Now()
	if ref := verifyACS3(r, body, s.secret, now); ref != nil {
		return order{}, ref
	}
	in := r.URL.Query()
	if form, err := url.ParseQuery(string(body)); err == nil && mediaType(r) == "application/x-www-form-urlencoded" {
		maps.Copy(in, form)
	}
	if v := r.Header.Get("X-Acs-Version"); v != "2017-05-25" {
		return order{}, strange("InvalidVersion", "Specified parameter Version is not valid: %q", v)
	}
	var ord order
	var ref *refusal
	switch action := r.Header.Get("X-Acs-Action"); action {
	case "SendSms":
		ord, ref = s.sendAliyun(r, in, now)
	case "SingleCallByTts", "SingleCallByVoice":
		ord, ref = callAliyun(r, in, strings.TrimPrefix(action, "SingleCallBy"))
	default:
		return order{}, strange("InvalidAction.NotFound", "Specified api is not found: %q", action)
	}
	ord.account = credentialOf(r).members["Credential"]
	return ord, ref
}

func (s *texting) sendAliyun(r *http.Request, in url.Values, now time.Time) (order, *refusal) {
	numbers := strings.Split(in.Get("PhoneNumbers"), ",")
	sign, template := in.Get("SignName"), in.Get("TemplateCode")
	params, ref := paramsOf(in.Get("TemplateParam"))
	switch {
	case ref != nil:
		return order{}, ref
	case in.Get("PhoneNumbers") == "":
		return order{}, strange("MissingPhoneNumbers", "PhoneNumbers is mandatory for this action.")
	case len(numbers) > aliyunNumbers:
		return order{}, strange("isv.MOBILE_COUNT_OVER_LIMIT", "手机号码数量超过限制")
	case sign == "" || strings.HasPrefix(sign, "wrong"):
		return order{}, strange("isv.SMS_SIGNATURE_ILLEGAL", "短信签名不合法")
	case !strings.HasPrefix(template, "SMS_"):
		return order{}, strange("isv.SMS_TEMPLATE_ILLEGAL", "短信模板不合法")
	}
	ord := order{together: true, messages: make([]message, len(numbers))}
	keys := keysOr(r, len(numbers), strings.TrimPrefix(in.Get("OutId"), "+"))
	for i, number := range numbers {
		e164, known := numberOf(number)
		ord.messages[i] = message{user: e164, title: template, text: params, key: keys[i], acts: actOf(e164)}
		if !known {
			ord.refusals = allRefused(len(numbers), UnknownUser, "", "手机号码格式错误")
		}
	}
	for _, m := range ord.messages {
		if ord.refusals != nil || !strings.HasPrefix(template, "SMS_CODE") {
			break
		}
		if full, most := s.admit(m.user, now); full != "" {
			ord.violated, ord.refusals = true, allRefused(len(numbers), TooFast, "isv.BUSINESS_LIMIT_CONTROL", "触发%s级流控Permits:%d", full, most)
		}
	}
	return ord, nil
}

// keysOr are the keys of n numbers, or the one id that a stranger's call of one has.
func keysOr(r *http.Request, n int, own string) []string {
	keys := keysOf(r, n)
	if n == 1 {
		keys[0] = cmp.Or(keys[0], own)
	}
	return keys
}

// callAliyun reads a call to one number.
func callAliyun(r *http.Request, in url.Values, by string) (order, *refusal) {
	params, ref := paramsOf(in.Get("TtsParam"))
	e164, known := numberOf(in.Get("CalledNumber"))
	template := cmp.Or(in.Get("TtsCode"), in.Get("VoiceCode"))
	switch {
	case ref != nil:
		return order{}, ref
	case !known:
		return order{}, strange("isv.CALLED_NUMBER_ILLEGAL", "被叫号码不合法")
	case by == "Tts" && !strings.HasPrefix(template, "TTS_"), template == "":
		return order{}, strange("isv.TTS_TEMPLATE_ILLEGAL", "文本转语音模板不合法")
	}
	return order{messages: []message{{user: e164, title: template, text: cmp.Or(params, template), key: keysOr(r, 1, strings.TrimPrefix(in.Get("OutId"), "+"))[0], acts: actOf(e164)}}}, nil
}

// paramsOf are parameters in lines, in the order of their names.
func paramsOf(text string) (string, *refusal) {
	if text == "" {
		return "", nil
	}
	var params map[string]string
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		return "", strange("isv.INVALID_JSON_PARAM", "JSON参数不合法: %v", err)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		lines = append(lines, name+": "+params[name])
	}
	return strings.Join(lines, "\n"), nil
}

// numberOf is a number in E.164: of mainland China where it has 11 digits and begins with 1, else with its country's code.
func numberOf(text string) (e164 string, known bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "00")
	if len(digits) == 11 && digits[0] == '1' && digits == text {
		digits = "86" + digits
	}
	return "+" + digits, len(digits) >= 7 && len(digits) <= 15 && strings.Trim(digits, "0123456789") == ""
}

func answerAliyun(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		return inJSON(jsonLine(map[string]string{"Code": ownCode(ref, aliyunCodes), "Message": ref.text, "RequestId": "F655A8D5-B967-440B-8683-DAD6FF8DE990"}))
	}
	id := idOf(results)
	return inJSON(jsonLine(map[string]string{"Code": "OK", "Message": "OK", "BizId": id, "CallId": id, "RequestId": "F655A8D5-B967-440B-8683-DAD6FF8DE990"}))
}

func smsTencent(o Options, back *caller) provider {
	s := newTexting(o)
	p := provider{
		name: "sms_tencent", title: "Tencent Cloud SMS", titleZH: "腾讯云短信", path: "/sms_tencent/", prefix: "tc",
		read: s.readTencent, status: always200, answer: answerTencent,
		more: &more{settle: func([]*refusal) {}, forget: s.forget, back: back, hosts: []string{"sms.tencentcloudapi.com"}},
	}
	p.more.taken = telling(back, tencentReport)
	return p
}

// tencentReport is what Tencent pushes of a message.
func tencentReport(a *Arrival, delivered bool) string {
	status, code, said := "SUCCESS", "DELIVRD", "用户短信送达成功"
	if !delivered {
		status, code, said = "FAIL", "MK:1008", "用户短信送达失败"
	}
	nation, number := "86", strings.TrimPrefix(a.User, "+86")
	if strings.HasPrefix(number, "+") {
		nation, number = number[1:3], number[3:] // of this simulator's examples
	}
	return jsonLine([]any{map[string]string{
		"user_receive_time": a.At.In(beijing).Format(time.DateTime), "nationcode": nation, "mobile": number, "report_status": status,
		"errmsg": code, "description": said, "sid": a.ID,
	}})
}

// tencentCall is the body of SendSms.
type tencentCall struct {
	Numbers  []string `json:"PhoneNumberSet"`
	App      string   `json:"SmsSdkAppId"`
	Template string   `json:"TemplateId"`
	Sign     string   `json:"SignName"`
	Params   []string `json:"TemplateParamSet"`
	Session  string   `json:"SessionContext"`
}

func (s *texting) readTencent(r *http.Request, body []byte) (order, *refusal) {
	if ref := verifyTC3(r, body, s.secret, time.Now()); ref != nil {
		return order{}, ref
	}
	var in tencentCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	abroad := 0
	for _, n := range in.Numbers {
		if e164, _ := numberOf(n); !strings.HasPrefix(e164, "+86") {
			abroad++
		}
	}
	_, err := strconv.Atoi(in.Template)
	switch {
	case r.Header.Get("X-Tc-Action") != "SendSms":
		return order{}, strange("InvalidAction", "The action is %q.", r.Header.Get("X-Tc-Action"))
	case r.Header.Get("X-Tc-Version") != "2021-01-11":
		return order{}, strange("NoSuchVersion", "The version is %q.", r.Header.Get("X-Tc-Version"))
	case len(in.Numbers) == 0:
		return order{}, strange("MissingParameter.EmptyPhoneNumberSet", "PhoneNumberSet is empty.")
	case len(in.Numbers) > tencentNumbers:
		return order{}, strange("LimitExceeded.PhoneNumberCountLimit", "PhoneNumberSet has %d numbers.", len(in.Numbers))
	case abroad > 0 && abroad < len(in.Numbers):
		return order{}, strange("UnsupportedOperation.ContainDomesticAndInternationalPhoneNumber", "PhoneNumberSet mixes them.")
	case in.App == "" || strings.HasPrefix(in.App, "wrong"):
		return order{}, strange("InvalidParameterValue.SdkAppIdNotExist", "SmsSdkAppId does not exist.")
	case strings.HasPrefix(in.Sign, "wrong"), in.Sign == "" && abroad == 0:
		return order{}, strange("FailedOperation.SignatureIncorrectOrUnapproved", "The sign is not approved.")
	case err != nil:
		return order{}, strange("FailedOperation.TemplateIncorrectOrUnapproved", "The template is not approved.")
	}
	ord := order{account: in.App, messages: make([]message, len(in.Numbers))}
	keys := keysOr(r, len(in.Numbers), in.Session)
	for i, number := range in.Numbers {
		e164, known := numberOf(number)
		ord.messages[i] = message{user: e164, title: in.Template, text: strings.Join(in.Params, "\n"), key: keys[i], acts: actOf(e164)}
		if !known {
			if ord.refusals == nil {
				ord.refusals = make([]*refusal, len(in.Numbers))
			}
			ord.refusals[i] = refuse(UnknownUser, 0)
		}
	}
	return ord, nil
}

func answerTencent(results []result) reply {
	if ref := results[0].refusal; ref != nil && results[0].user == "" {
		return inJSON(fmt.Sprintf(`{"Response":{"Error":{"Code":%s,"Message":%s},"RequestId":"a0aabda6-cf91-4f3e-a81f-9198114a2279"}}`, quote(ownCode(ref, tencentCodes)), quote(ref.text)))
	}
	set := make([]map[string]any, len(results))
	for i, res := range results {
		set[i] = map[string]any{"SerialNo": res.id, "PhoneNumber": res.user, "Fee": 1, "SessionContext": "", "Code": "Ok", "Message": "send success", "IsoCode": "CN"}
		if ref := res.refusal; ref != nil {
			set[i]["Code"], set[i]["Message"], set[i]["SerialNo"], set[i]["Fee"] = ownCode(ref, tencentCodes), ref.text, "", 0
		}
	}
	return inJSON(jsonLine(map[string]any{"Response": map[string]any{"SendStatusSet": set, "RequestId": "a0aabda6-cf91-4f3e-a81f-9198114a2279"}}))
}
