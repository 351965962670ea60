package sms_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/sms"
)

func TestContractOfAliyun(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: sms.Type(), Config: aliyunAt,
		Address: func(string) string { return "13800138000" },
		Same:    []string{"+8613800138000", "+86 138 0013 8000", "008613800138000"},
		Accept:  channeltest.Reply(200, `{"Code":"OK","Message":"OK","BizId":"900619746936498440^0","RequestId":"F655A8D5"}`),
		Secrets: []string{secret},
	})
}

func TestContractOfTencent(t *testing.T) {
	channeltest.Run(t, channeltest.Case{
		Type: sms.Type(), Config: tencentAt,
		Address: func(string) string { return "+8613800138000" },
		Accept:  channeltest.Reply(200, `{"Response":{"SendStatusSet":[{"SerialNo":"s1","PhoneNumber":"+8613800138000","Code":"Ok"}],"RequestId":"x"}}`),
		Secrets: []string{secret},
	})
}

// accepting is a provider that accepts each number of a call to Tencent.
func accepting(t *testing.T) *channeltest.Provider {
	t.Helper()
	var p *channeltest.Provider
	p = channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		arrivals := p.Arrivals()
		var in struct{ PhoneNumberSet []string }
		if err := json.Unmarshal(arrivals[len(arrivals)-1].Body, &in); err != nil {
			t.Error(err)
		}
		set := make([]map[string]any, len(in.PhoneNumberSet))
		for i, n := range in.PhoneNumberSet {
			set[i] = map[string]any{"SerialNo": "5000:" + n, "PhoneNumber": n, "Fee": 1, "Code": "Ok", "Message": "send success"}
		}
		body, _ := json.Marshal(map[string]any{"Response": map[string]any{"SendStatusSet": set, "RequestId": "x"}})
		channeltest.Reply(200, string(body))(w, r)
	})
	return p
}

func TestAMessageToNumbersOfManyCountries(t *testing.T) {
	t.Parallel()
	outs := to("+8613800138000", "+85251234567", "+8613800138001", "+13105550100")
	t.Run("aliyun", func(t *testing.T) {
		t.Parallel()
		p := channeltest.NewProvider(t, channeltest.Reply(200, `{"Code":"OK","BizId":"b1"}`))
		results := driver(t, aliyunAt(p.URL), nil).SendBatch(t.Context(), outs)
		var numbers, ids, params []string
		for _, a := range p.Arrivals() {
			u, _ := url.Parse(a.Target)
			numbers, ids, params = append(numbers, u.Query().Get("PhoneNumbers")), append(ids, u.Query().Get("OutId")), append(params, u.Query().Get("TemplateParam"))
		}
		if want := []string{"13800138000,13800138001", "85251234567,0013105550100"}; !slices.Equal(numbers, want) {
			t.Errorf("numbers %q, want %q", numbers, want)
		}
		if want := []string{outs[0].IdemKey, "+" + outs[1].IdemKey}; !slices.Equal(ids, want) {
			t.Errorf("OutId %q, want %q", ids, want)
		}
		if params[0] != `{"amount":"12.5","name":"王芳"}` {
			t.Errorf("TemplateParam is %s", params[0])
		}
		if got := classes(results); slices.ContainsFunc(got, func(c posthouse.Class) bool { return c != posthouse.ClassOK }) || results[3].Ref != "b1" {
			t.Errorf("got %+v", results)
		}
	})
	t.Run("tencent", func(t *testing.T) {
		t.Parallel()
		p := accepting(t)
		results := driver(t, tencentAt(p.URL), map[string]any{"sender_id": "Posthouse"}).SendBatch(t.Context(), outs)
		bodies := []string{}
		for _, a := range p.Arrivals() {
			bodies = append(bodies, string(a.Body))
		}
		want := []string{
			`{"PhoneNumberSet":["+8613800138000","+8613800138001"],"SmsSdkAppId":"1400006666","TemplateId":"1001","SignName":"驿站","TemplateParamSet":["王芳","12.5"],"SessionContext":"` + outs[0].IdemKey + `"}`,
			`{"PhoneNumberSet":["+85251234567","+13105550100"],"SmsSdkAppId":"1400006666","TemplateId":"1001","SignName":"驿站","TemplateParamSet":["王芳","12.5"],"SessionContext":"` + outs[1].IdemKey + `","SenderId":"Posthouse"}`,
		}
		if diff := cmp.Diff(want, bodies); diff != "" {
			t.Error(diff)
		}
		if results[1].Ref != "5000:+85251234567" || results[2].Ref != "5000:+8613800138001" {
			t.Errorf("got %+v", results)
		}
	})
}

// Aliyun refuses a call as a whole for the sake of one number, which it does not name.
func TestTheNumberForWhichAliyunRefusesACallIsFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]posthouse.Class{"isv.MOBILE_NUMBER_ILLEGAL": posthouse.ClassRecipient, "isv.BUSINESS_LIMIT_CONTROL": posthouse.ClassTransient} {
		p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.RawQuery, "13800138002") {
				channeltest.Reply(200, `{"Code":"`+code+`","Message":"触发小时级流控Permits:5"}`)(w, r)
				return
			}
			channeltest.Reply(200, `{"Code":"OK","BizId":"b1"}`)(w, r)
		})
		results := driver(t, aliyunAt(p.URL), nil).SendBatch(t.Context(), to("+8613800138000", "+8613800138001", "+8613800138002", "+8613800138003"))
		ok := posthouse.ClassOK
		if got := classes(results); !slices.Equal(got, []posthouse.Class{ok, ok, want, ok}) {
			t.Errorf("%s: got %q", code, got)
		}
		if want == posthouse.ClassTransient && results[2].After != time.Hour {
			t.Errorf("%s: waits %s, want an hour", code, results[2].After)
		}
	}
}

func TestWhatTheProvidersCodesMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, message string
		tencent       bool
		want          posthouse.Class
		as            string // the code that is reported, where it is another
		least, most   time.Duration
	}{
		{code: "isv.BUSINESS_LIMIT_CONTROL", message: "触发分钟级流控Permits:1", want: posthouse.ClassTransient, least: time.Minute, most: time.Minute},
		{code: "isv.BUSINESS_LIMIT_CONTROL", message: "触发天级流控Permits:10", want: posthouse.ClassTransient, least: 24 * time.Hour, most: 24 * time.Hour},
		{code: "isv.DAY_LIMIT_CONTROL", want: posthouse.ClassRate, least: time.Nanosecond, most: 24 * time.Hour},
		{code: "Throttling.User", want: posthouse.ClassRate, least: time.Second, most: time.Second},
		{code: "isv.ACCOUNT_ABNORMAL", want: posthouse.ClassAccount},
		{code: "isv.SMS_SIGNATURE_ILLEGAL", want: posthouse.ClassAccount},
		{code: "isv.SMS_TEMPLATE_ILLEGAL", want: posthouse.ClassContent},
		{code: "isv.BLACK_KEY_CONTROL_LIMIT", want: posthouse.ClassContent},
		{code: "isv.BLACK_LIST_CONTROL", want: posthouse.ClassRecipient},
		{code: "InvalidAccessKeyId.NotFound", want: posthouse.ClassAccount},
		{code: "SignatureDoesNotMatch", want: posthouse.ClassAccount},
		{code: "InvalidTimeStamp.Expired", want: posthouse.ClassLocal, as: "CLOCK_OFF"},
		{code: "isv.SOMETHING_NEW", want: posthouse.ClassTransient},
		{code: "AuthFailure.SignatureExpire", tencent: true, want: posthouse.ClassLocal, as: "CLOCK_OFF"},
		{code: "InternalError.RequestTimeException", tencent: true, want: posthouse.ClassLocal, as: "CLOCK_OFF"},
		{code: "AuthFailure.SignatureFailure", tencent: true, want: posthouse.ClassAccount},
		{code: "InternalError.Timeout", tencent: true, want: posthouse.ClassUnknown},
		{code: "InternalError.OtherError", tencent: true, want: posthouse.ClassTransient},
		{code: "RequestLimitExceeded.UinLimitExceeded", tencent: true, want: posthouse.ClassRate, least: time.Second, most: time.Second},
		{code: "LimitExceeded.AppDailyLimit", tencent: true, want: posthouse.ClassRate, least: time.Nanosecond, most: 24 * time.Hour},
		{code: "LimitExceeded.PhoneNumberDailyLimit", tencent: true, want: posthouse.ClassTransient, least: time.Nanosecond, most: 24 * time.Hour},
		{code: "LimitExceeded.PhoneNumberThirtySecondLimit", tencent: true, want: posthouse.ClassTransient, least: 30 * time.Second, most: 30 * time.Second},
		{code: "FailedOperation.MarketingSendTimeConstraint", tencent: true, want: posthouse.ClassTransient, least: time.Nanosecond, most: 24 * time.Hour},
		{code: "FailedOperation.InsufficientBalanceInSmsPackage", tencent: true, want: posthouse.ClassAccount},
		{code: "FailedOperation.PhoneNumberInBlacklist", tencent: true, want: posthouse.ClassRecipient},
		{code: "InvalidParameterValue.TemplateParameterLengthLimit", tencent: true, want: posthouse.ClassContent},
		{code: "InvalidParameter", tencent: true, want: posthouse.ClassRequest},
	} {
		t.Run(c.code+" "+c.message, func(t *testing.T) {
			t.Parallel()
			body, config := `{"Code":"`+c.code+`","Message":"`+c.message+`"}`, aliyunAt
			answers := []string{body}
			if c.tencent {
				config = tencentAt
				answers = []string{
					`{"Response":{"Error":` + body + `}}`,
					`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613800138000","Code":"` + c.code + `","Message":"` + c.message + `"}]}}`,
				}
			}
			for _, answer := range answers {
				for _, status := range []int{200, 400} {
					p := channeltest.NewProvider(t, channeltest.Reply(status, answer))
					r := driver(t, config(p.URL), nil).Send(t.Context(), to("+8613800138000")[0])
					if strings.Contains(answer, "SendStatusSet") && status != 200 {
						continue // a status is no answer of a call that failed
					}
					if as := max(c.as, ""); r.Class != c.want || as != "" && r.Code != as || as == "" && r.Code != c.code || r.After < c.least || r.After > c.most {
						t.Errorf("HTTP %d %s: got %s %s after %s (%s), want %s", status, answer, r.Class, r.Code, r.After, r.Error, c.want)
					}
				}
			}
			p := channeltest.NewProvider(t, channeltest.Reply(200, answers[0]))
			own := driver(t, config(p.URL), nil, func(env *channel.Env) { env.Codes = map[string]posthouse.Class{c.code: posthouse.ClassContent} })
			if r := own.Send(t.Context(), to("+8613800138000")[0]); r.Class != posthouse.ClassContent {
				t.Errorf("the channel says content of it, and it is %s", r.Class)
			}
		})
	}
}

func TestAClockThatIsOffIsSaidByHowMuch(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(20*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(400)
		w.Write([]byte(`{"Code":"InvalidTimeStamp.Expired","Message":"Specified time stamp or date value is expired."}`))
	})
	r := driver(t, aliyunAt(p.URL), nil).Send(t.Context(), to("+8613800138000")[0])
	if r.Class != posthouse.ClassLocal || !strings.Contains(r.Error, "behind its: set the clock") || !strings.Contains(r.Error, "clock is ") {
		t.Errorf("got %+v", r)
	}
}

func TestTencentTellsNumbersApart(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"Response":{"SendStatusSet":[
		{"PhoneNumber":"+8613800138002","SerialNo":"s2","Code":"Ok"},
		{"PhoneNumber":"+8613800138001","Code":"FailedOperation.PhoneNumberInBlacklist","Message":"in the blacklist"}]}}`))
	results := driver(t, tencentAt(p.URL), nil).SendBatch(t.Context(), to("+8613800138001", "+8613800138002", "+8613800138003"))
	want := []posthouse.Class{posthouse.ClassRecipient, posthouse.ClassOK, posthouse.ClassUnknown}
	if got := classes(results); !slices.Equal(got, want) || results[1].Ref != "s2" {
		t.Errorf("got %+v, want %q", results, want)
	}
}

func TestACallReadsATemplateAloud(t *testing.T) {
	t.Parallel()
	for media, want := range map[string]map[string]string{
		"TTS_10001":       {"CalledNumber": "13800138000", "TtsCode": "TTS_10001", "TtsParam": `{"amount":"12.5","name":"王芳"}`, "CalledShowNumber": "05715678"},
		"TTS_by_template": {"CalledNumber": "13800138000", "TtsCode": "TTS_by_template", "TtsParam": `{"amount":"12.5","name":"王芳"}`, "CalledShowNumber": "05715678"},
		"abc-12.wav":      {"CalledNumber": "13800138000", "VoiceCode": "abc-12.wav", "CalledShowNumber": "05715678"},
	} {
		p := channeltest.NewProvider(t, channeltest.Reply(200, `{"Code":"OK","CallId":"call-7"}`))
		out := to("+8613800138000")[0]
		switch media {
		case "TTS_by_template": // as a step of a route has it, whose template says what is said
			out.TemplateID = media
		default:
			out.Content = posthouse.Content{Type: posthouse.VoiceContent, Media: []posthouse.Media{{ID: media}}}
		}
		want["OutId"] = out.IdemKey
		r := driver(t, aliyunAt(p.URL), map[string]any{"voice_number": "05715678"}).Send(t.Context(), out)
		u, _ := url.Parse(p.Arrivals()[0].Target)
		got := map[string]string{}
		for name := range u.Query() {
			got[name] = u.Query().Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" || r.Class != posthouse.ClassOK || r.Ref != "call-7" {
			t.Errorf("%s: %s %+v", media, diff, r)
		}
	}
}

func TestParametersThatHaveNoPlaceAreRefused(t *testing.T) {
	t.Parallel()
	p := accepting(t)
	for payload, c := range map[string]struct {
		names []any
		want  string // of TemplateParamSet, empty for a refusal
	}{
		`{"1":"a","2":7}`:      {nil, `["a","7"]`},
		`{"1":"a","3":"b"}`:    {nil, ""},
		`{"name":"a"}`:         {nil, ""},
		`{"name":"a","x":"b"}`: {[]any{"name"}, `["a"]`},
		`{"x":"b"}`:            {[]any{"name", "x"}, ""},
		`[1]`:                  {nil, ""},
		``:                     {nil, `["王芳，您有 12.5 元到账"]`},
	} {
		before := len(p.Arrivals())
		out := to("+8613800138000")[0]
		out.Payload = []byte(payload)
		r := driver(t, tencentAt(p.URL), map[string]any{"parameters": c.names}).Send(t.Context(), out)
		if c.want == "" {
			if r.Class != posthouse.ClassContent || len(p.Arrivals()) != before {
				t.Errorf("%s: got %+v, want it refused and not sent", payload, r)
			}
			continue
		}
		var in struct{ TemplateParamSet json.RawMessage }
		if len(p.Arrivals()) == before || json.Unmarshal(p.Arrivals()[before].Body, &in) != nil || string(in.TemplateParamSet) != c.want {
			t.Errorf("%s: sent %s, want %s (%+v)", payload, in.TemplateParamSet, c.want, r)
		}
	}
	out := to("+8613800138000")[0]
	r := driver(t, tencentAt(p.URL), map[string]any{"template_id": ""}).Send(t.Context(), out)
	if r.Class != posthouse.ClassContent || r.Code != "NO_TEMPLATE" {
		t.Errorf("without a template: %+v", r)
	}
}

func TestWhatAConfigurationLacksIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"no provider":         {map[string]any{"access_key": "a", "secret": "s", "sign": "x"}, "config.provider"},
		"no sign":             {map[string]any{"provider": "aliyun", "access_key": "a", "secret": "s"}, "config.sign"},
		"no app":              {map[string]any{"provider": "tencent", "access_key": "a", "secret": "s"}, "config.app_id"},
		"Tencent's batch":     {map[string]any{"provider": "tencent", "access_key": "a", "secret": "s", "app_id": "1", "batch": 300}, "config.batch"},
		"no country":          {map[string]any{"provider": "aliyun", "access_key": "a", "secret": "s", "sign": "x", "region": "China"}, "config.region"},
		"Aliyun's parameters": {map[string]any{"provider": "aliyun", "access_key": "a", "secret": "s", "sign": "x", "parameters": []any{"a"}}, "config.parameters"},
	} {
		_, problems := sms.Type().Validate(c.config)
		if len(problems) != 1 || problems[0].Path != c.want {
			t.Errorf("%s: got %+v, want one problem at %s", name, problems, c.want)
		}
	}
}

func TestContentsThatAreNoMessageAreRefused(t *testing.T) {
	t.Parallel()
	typ := sms.Type()
	aliyun, _ := typ.Validate(aliyunAt("http://127.0.0.1:1"))
	tencent, _ := typ.Validate(tencentAt("http://127.0.0.1:1"))
	voice := posthouse.Content{Type: posthouse.VoiceContent, Media: []posthouse.Media{{ID: "TTS_1"}}}
	for name, c := range map[string]struct {
		config  channel.Config
		content posthouse.Content
		want    string
	}{
		"a text":              {aliyun, posthouse.Content{Text: "x"}, ""},
		"a text with extra":   {aliyun, posthouse.Content{Text: "x", Extra: []byte(`{}`)}, "content.extra"},
		"Markdown":            {aliyun, posthouse.Content{Type: posthouse.MarkdownContent, Text: "x"}, "content.type"},
		"a call":              {aliyun, voice, ""},
		"a call with a file":  {aliyun, posthouse.Content{Type: posthouse.VoiceContent, Media: []posthouse.Media{{URL: "https://x/a.wav"}}}, "content.media"},
		"a call by Tencent":   {tencent, voice, "content.type"},
		"a call with mention": {aliyun, posthouse.Content{Type: posthouse.VoiceContent, Media: voice.Media, Mentions: []string{"a"}}, "content.extra"},
	} {
		problems := typ.Content(c.config, c.content)
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) == 0 || problems[0].Path != c.want) {
			t.Errorf("%s: got %+v, want %q", name, problems, c.want)
		}
	}
	for _, number := range []string{"010-85296666", "12345", "+8610085"} {
		if _, err := typ.Address(aliyun, number); err == nil {
			t.Errorf("%s is taken for a mobile number", number)
		}
	}
}

func TestANumberGetsAsManyAsTheProviderAllows(t *testing.T) {
	t.Parallel()
	typ := sms.Type()
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"notices of Aliyun":   {map[string]any{"provider": "aliyun", "access_key": "a", "secret": "s", "sign": "x"}, "50/24h"},
		"codes of Aliyun":     {map[string]any{"provider": "aliyun", "access_key": "a", "secret": "s", "sign": "x", "templates": "codes"}, "1/1m 5/1h 10/24h"},
		"messages of Tencent": {map[string]any{"provider": "tencent", "access_key": "a", "secret": "s", "app_id": "1"}, "10/24h"},
	} {
		config, problems := typ.Validate(c.config)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for _, l := range typ.RecipientLimitsOf(config) {
			got = append(got, l.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestATextOfSeveralPartsIsSaidToCostThem(t *testing.T) {
	t.Parallel()
	fitter, is := driver(t, aliyunAt("http://127.0.0.1:1"), nil).(channel.Fitter)
	if !is {
		t.Fatal("the driver knows of no lengths")
	}
	problems := fitter.Fit(posthouse.Content{Title: "值班", Text: strings.Repeat("值", 67)})
	if len(problems) != 2 || problems[0].Path != "title" || !strings.Contains(problems[1].Message, "2 parts") {
		t.Errorf("got %+v", problems)
	}
	if problems := fitter.Fit(posthouse.Content{Text: strings.Repeat("值", 66)}); len(problems) != 0 {
		t.Errorf("66 characters and a sign of 4: got %+v", problems)
	}
}
