package sms_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/channel"
)

func TestReportsAreRead(t *testing.T) {
	t.Parallel()
	at := "http://127.0.0.1:1"
	aliyun, tencent := driver(t, aliyunAt(at), nil).(channel.Receiver), driver(t, tencentAt(at), nil).(channel.Receiver)
	arrived := channel.Receipt{Known: true, Delivered: true}
	for name, c := range map[string]struct {
		by       channel.Receiver
		body     string
		answer   string
		reports  []channel.Report
		consents []channel.Consent
		inbound  []channel.Inbound
	}{
		"Aliyun's, two of them": {
			by: aliyun, answer: `{"code":0,"msg":"ok"}`,
			body: `[{"phone_number":"13800138000","send_time":"2017-01-01 11:12:13","report_time":"2017-02-02 22:23:24","success":true,"err_code":"DELIVERED","err_msg":"用户接收成功","sms_size":"2","biz_id":"b1","out_id":"k1"},
				{"phone_number":"85251234567","success":false,"err_code":"UNDELIV","err_msg":"","biz_id":"b2","out_id":"+k2"}]`,
			reports: []channel.Report{
				{Ref: "b1", Address: "+8613800138000", Receipt: channel.Receipt{Known: true, Delivered: true, Response: "billed as 2 parts"}},
				{Ref: "b2", Address: "+85251234567", Receipt: channel.Receipt{Known: true, Code: "UNDELIV", Error: "Aliyun did not deliver it: UNDELIV"}},
			},
		},
		"Aliyun's, of calls": {
			by: aliyun, answer: `{"code":0,"msg":"ok"}`,
			body: `[{"call_id":"c1","status_code":"200000","status_msg":"用户接听","out_id":""},{"call_id":"c2","status_code":200002,"status_msg":"用户占线"}]`,
			reports: []channel.Report{
				{Ref: "c1", Receipt: arrived},
				{Ref: "c2", Receipt: channel.Receipt{Known: true, Code: "200002", Error: "Aliyun's call was not taken: 用户占线"}},
			},
		},
		"Aliyun's, of keys that are pressed in a call, and of one that rings": {
			by: aliyun, answer: `{"code":0,"msg":"ok"}`,
			body: `[{"call_id":"c1","status_code":"300000","dtmf":"1","status_time":"2023-03-06 16:21:12","out_id":"k1"},{"call_id":"c1","status_code":"200010","status_time":"2023-03-06 16:21:10","out_id":"k1"},
				{"call_id":"c1","status_code":"200000","status_msg":"用户接听","out_id":"+k1","dtmf":"12","callee":"85251234567"}]`,
			reports: []channel.Report{{Ref: "c1", Receipt: arrived}},
			inbound: []channel.Inbound{
				{Way: channel.InboundVoice, IdemKey: "k1", Text: "1", ID: "c1", At: time.Date(2023, 3, 6, 8, 21, 12, 0, time.UTC)},
				{Way: channel.InboundVoice, IdemKey: "k1", Address: "+85251234567", Text: "12", ID: "c1"},
			},
		},
		"a reply to Aliyun that ends messages, and another": {
			by: aliyun, answer: `{"code":0,"msg":"ok"}`,
			body:     `[{"phone_number":"13800138000","content":" td ","sign_name":"驿站","dest_code":"1234"},{"phone_number":"13800138001","content":"谢谢","send_time":"2017-09-01 11:12:13","sequence_id":1234567890}]`,
			inbound:  []channel.Inbound{{Way: channel.InboundSMS, Address: "+8613800138001", Text: "谢谢", ID: "1234567890", At: time.Date(2017, 9, 1, 3, 12, 13, 0, time.UTC)}},
			consents: []channel.Consent{{Address: "+8613800138000", Reason: "replied TD"}},
		},
		"Tencent's": {
			by: tencent, answer: `{"result":0,"errmsg":"OK"}`,
			body: `[{"user_receive_time":"2015-10-17 08:03:04","nationcode":"86","mobile":"13800138000","report_status":"SUCCESS","errmsg":"DELIVRD","description":"用户短信送达成功","sid":"s1"},
				{"nationcode":"86","mobile":"13800138001","report_status":"FAIL","errmsg":"MK:1008","description":"空号","sid":"s2"}]`,
			reports: []channel.Report{{Ref: "s1", Receipt: arrived}, {Ref: "s2", Receipt: channel.Receipt{Known: true, Code: "MK:1008", Error: "Tencent did not deliver it: 空号"}}},
		},
		"a reply to Tencent": {
			by: tencent, answer: `{"result":0,"errmsg":"OK"}`,
			body:     `{"extend":"01","mobile":"51234567","nationcode":"852","sign":"驿站","text":"STOP","time":1457336869}`,
			consents: []channel.Consent{{Address: "+85251234567", Reason: "replied STOP"}},
		},
		"another reply to Tencent": {
			by: tencent, answer: `{"result":0,"errmsg":"OK"}`,
			body:    `{"extend":"01","mobile":"13800138000","nationcode":"86","sign":"驿站","text":"收到","time":1457336869}`,
			inbound: []channel.Inbound{{Way: channel.InboundSMS, Address: "+8613800138000", Text: "收到", At: time.Unix(1457336869, 0).UTC()}},
		},
	} {
		heard, err := c.by.Receive(channel.Callback{Method: "POST", Body: []byte(c.body)})
		if err != nil || heard.Answer != c.answer || heard.Once == "" {
			t.Errorf("%s: got %+v, %v", name, heard, err)
		}
		if diff := cmp.Diff(c.reports, heard.Reports) + cmp.Diff(c.consents, heard.Consents) + cmp.Diff(c.inbound, heard.Inbound); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, body := range map[string]string{"nothing": "", "no JSON": "ok", "an empty list": "[]", "another list": `[{"a":1}]`, "numbers": "[1]", "no id": `[{"phone_number":"1","success":true}]`} {
		for _, by := range []channel.Receiver{aliyun, tencent} {
			if heard, err := by.Receive(channel.Callback{Method: "POST", Body: []byte(body)}); !errors.Is(err, channel.ErrForged) {
				t.Errorf("%s: got %+v, %v; want it forged", name, heard, err)
			}
		}
	}
}
