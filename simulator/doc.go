// Package simulator plays the providers that messages are sent to: it listens on
// real HTTP, takes what is posted to it, shows what arrived, and fails in every
// way a provider can, on request. It belongs to the product: the demo, the tests
// and the benchmarks send to it, and so can anybody who connects a system to
// Posthouse before the real accounts are there.
//
// It is not a queue, not a proxy and not a mock: nothing it takes goes any
// further, nothing survives its end but the journal, and it knows nothing of the
// engine that calls it.
//
//	sim := simulator.New(simulator.Options{})
//	err := sim.Start(ctx, "127.0.0.1:9090")
//	…
//	err = sim.Stop(ctx)
//
// A Simulator is also an http.Handler, for httptest.NewServer.
//
// # Providers
//
// The interfaces of 天元, 招呼 and the OA systems of banks are not public. The
// forms below are ours, and differ on purpose: a driver that is configured for
// all of them can be configured for the real ones.
//
// tianyuan, 天元: POST /tianyuan/api/message/send takes JSON and answers 200
// whatever happens; the key is msgId.
//
//	{"touser": "u1", "title": "…", "content": "…", "msgId": "…"}
//	{"code": 0, "msg": "ok", "data": {"messageId": "ty-…"}}
//	{"code": 2001, "msg": "too many requests", "retryAfter": 5}
//
//	1001 unknown_user   1002 refused_content   1003 malformed   2001 too_fast   5000 busy
//
// zhaohu, 招呼: POST /zhaohu/im/v1/notify takes up to 100 receivers as JSON, or as
// a form with the same names, and answers 200 with a line for each receiver.
// success is true only where every line is OK; errCode is the first failure.
// requestNo is one text, or a list with one for each receiver: then each is the
// key of its receiver, else the key is "requestNo/receiver", and for a single
// receiver the requestNo itself. Both lists may be one text with commas.
//
//	{"receivers": ["u1", "u2"], "text": "…", "requestNo": ["r1", "r2"]}
//	{"success": true, "result": [{"user": "u1", "status": "OK", "id": "zh-…"}, …]}
//	{"success": false, "errCode": "TOO_FAST", "errMsg": "…", "waitSeconds": 5, "result": [{"user": "u1", "status": "TOO_FAST", "message": "…"}]}
//
//	NO_USER unknown_user   REFUSED refused_content   BAD_REQUEST malformed   TOO_FAST   BUSY
//
// oa, OA: POST /oa/messages takes a form, or XML where the content type ends in
// xml, and answers 200 with one line of text; the key is ref.
//
//	to=u1&subject=…&body=…&ref=…
//	<message><to>u1</to><subject>…</subject><body>…</body><ref>…</ref></message>
//	OK|oa-…
//	ERR|E04|too many requests|5
//
//	E01 malformed   E02 unknown_user   E03 refused_content   E04 too_fast (and the wait in seconds)   E05 busy
//
// generic: POST to any path below /generic/ takes any JSON object, reads the
// recipient from to, user or address, the text from text or content (else it is
// the whole body) and title, and answers 202 {"id": "ge-…"}. The key is the header
// Idempotency-Key, else webhook-id, else the field id. Only the header
// Idempotency-Key makes it remember: the same key again gets the first id and is
// counted as a repeat. It refuses through the HTTP status, with
// {"error": {"code": "…", "message": "…"}} and, where there is a wait, Retry-After.
//
//	400 malformed   404 unknown_user   422 refused_content   429 too_fast   503 busy
//
// webhook: POST to any path below /webhook/ takes a Standard Webhooks event. With
// Options.WebhookSecrets it verifies the v1 signature and that the time is within
// five minutes, and answers 401 otherwise; the other statuses are those of
// generic, success is 200. The recipient is to, user or address of the event's
// data, else the rest of the path. The key is webhook-id, and is remembered.
//
// dingtalk, 钉钉网关: POST /dingtalk/send takes what an enterprise's own gateway takes, for any number of
// users, whole or not at all, and answers 200. The forms of such gateways are not public either; codes are
// as HTTP has them. It refuses a title of more than 20 characters, as Java counts, a parameter that is no
// text and a user that stands twice.
//
//	{"title": "…", "template_id": "SE1001", "template_params": {"taskName": "…"}, "userid_list": ["u1"], "agent_id": "…", "corp_id": "…"}
//	{"success": true, "code": 200, "msg": "ok", "data": {"msgid": "dt-…"}}
//	{"success": false, "code": 404, "msg": "no such user"}
//
//	400 malformed   404 unknown_user   422 refused_content   429 too_fast   503 busy
//
// dingtalk_robot, 钉钉群机器人: POST /dingtalk_robot/robot/send?access_token=… takes text and markdown posts
// as DingTalk documents them; any access token is a robot. With Options.RobotSecret it checks the
// signature, with Options.RobotKeyword the text. After 20 posts in a minute it refuses everything for
// 10 minutes. It remembers msgUuid. It knows no users.
//
//	{"errcode": 0, "errmsg": "ok"}
//
//	40035 malformed   430104 refused_content, unknown_user   410100 too_fast   -1 busy   310000 unauthorized, or no keyword   300005 no token   400105 msgtype
//
// dingtalk_work, 钉钉工作通知: POST /dingtalk_work/topapi/message/corpconversation/asyncsend_v2 takes
// text and markdown for up to 100 users and 2048 bytes; …/getsendresult tells what became of a task. Tokens
// are given by GET /dingtalk_work/gettoken and POST /dingtalk_work/v1.0/oauth2/accessToken to any key with a
// secret that does not begin with "wrong", and taken back by DELETE /dingtalk_work/tokens. A call is accepted
// although some of its users get nothing: who is unknown, whom the content is refused for, who was told the
// same today, more than 500 times today, or beyond 5000 people in the minute. Such arrivals are accepted and
// have a code.
//
//	33012 all unknown_user   41049 all refused_content   40035 malformed   45002 too long   90018 too_fast, 20 calls a second   -1 busy   40014, 41001, 42001 token
//	later: invalid_user_id_list, or 1430002 refused_content   143103 too_fast   143105 often   143106 the same
//
// dingtalk_card, 钉钉互动卡片: POST /dingtalk_card/v1.0/card/instances/createAndDeliver takes a card for the conversation of one person with a robot.
// Tokens are those of dingtalk_work, also by POST /dingtalk_card/v1.0/oauth2/accessToken. POST /dingtalk_card/v1.0/card/callbacks/register keeps the
// address that is told what is pressed (Press), signed as DingTalk does with the apiSecret; PUT /callbacks/dingtalk_card does it too. Of the card's
// template, which DingTalk keeps, it knows nothing: a button tells back one variable of the card.
//
//	400 param.userIdNotExist unknown_user   400 param.contentUnsafe refused_content   400 param.invalid malformed   403 Forbidden.AccessDenied.QpsLimitForAppkeyAndApi too_fast   500 system.busy busy   400 InvalidAuthentication token
//
// wecom, 企业微信应用消息: POST /wecom/cgi-bin/message/send takes every type of message for up to 1000 members, 100
// departments and 100 tags. Tokens are given by GET /wecom/cgi-bin/gettoken to any corporation with a secret that does not
// begin with "wrong", and taken back by DELETE /wecom/tokens; POST /wecom/cgi-bin/media/upload takes files. Those who are not
// known are named in the answer. A member gets 30 messages a minute and 1,000 an hour; what is beyond is accepted and
// dropped without a word: such arrivals have the code too_fast. A corporation makes 10,000 calls a minute and 150,000 an hour.
//
//	81013 all unknown_user   45002 refused_content   40058 malformed   45009 too_fast   -1 busy   40014, 41001, 42001 token   40007 file
//
// wecom_robot, 企业微信群机器人: POST /wecom_robot/cgi-bin/webhook/send?key=… takes texts, Markdown, pictures, files, voices,
// news and cards; any key is a robot that does not begin with "wrong". A robot posts 20 times a minute.
//
//	93000 no such robot   45009 too_fast   45002 refused_content   40058 malformed   -1 busy
//
// wechat, 微信模板消息, and wechat_subscribe, 微信订阅通知: POST /wechat/cgi-bin/message/template/send and
// /wechat_subscribe/cgi-bin/message/subscribe/bizsend tell one follower. Tokens are given by POST /wechat/cgi-bin/stable_token to any app id with a
// secret that does not begin with "wrong", and taken back by DELETE /wechat/tokens. Templates are known that do not begin
// with "wrong". A template message is known by its client_msg_id. Each app takes 100,000 messages a day,
// which begins at midnight in China. GET /wechat/cgi-bin/user/get lists the followers, in pages of 10,000: 25, or as many as the app id says
// behind a hyphen, such as wx-25000. GET /wechat/cgi-bin/template/get_all_private_template and /wechat_subscribe/wxaapi/newtmpl/gettemplate list the
// one template that each account keeps, OPENTM-1, with the parameters thing1, amount2 and time3.
//
//	40003 unknown_user   47003 refused_content   47001 malformed   45009 too_fast   -1 busy   40014, 41001, 42001 token   40037 template
//
// What dingtalk_work, wecom and feishu have told can be taken back within 24 hours: POST /dingtalk_work/topapi/message/corpconversation/recall,
// POST /wecom/cgi-bin/message/recall, DELETE /feishu/open-apis/im/v1/messages/… and …/batch_messages/…. What was told to users whose name begins with
// recall-late is too old at once. An id that is not known, or too old, is 40035, 40058, 230030 and 230009; once more is 230110 at Feishu, and ok at others.
// Neither DingTalk nor WeCom names a code for what is too old: a server whose clock says that it is young has failed to recall it there.
//
// DingTalk's, WeCom's and those of SMS find the deliveries' keys in the header X-Posthouse-Keys, which our driver sends.
//
// sms_aliyun, 阿里云短信与语音: POST /sms_aliyun/, or at any path by the host dysmsapi.aliyuncs.com or dyvmsapi.aliyuncs.com, takes SendSms,
// SingleCallByTts and SingleCallByVoice signed by ACS3-HMAC-SHA256, and sms_tencent, 腾讯云短信: POST /sms_tencent/, or by the host
// sms.tencentcloudapi.com, SendSms signed by TC3-HMAC-SHA256. Host, scope and signed headers are read from the request. Any access key has
// the secret of Options.SMSSecret; keys, signs and templates that begin with "wrong" are not known. Aliyun's templates begin with SMS_ and
// TTS_; of those that begin with SMS_CODE a number gets 1 a minute, 5 an hour and 10 a day. A clock that is off by more than 15 minutes, or
// 5 at Tencent, is refused. Both tell what became of a message (PUT /callbacks/…), without a signature: 13900000021 did not get it, of
// 13900000022 nothing is told, of 13900000023 twice, of 13900000024 late. Numbers act as they do on phones.
//
//	isv.MOBILE_NUMBER_ILLEGAL unknown_user   isv.SMS_CONTENT_ILLEGAL refused_content   Throttling.User too_fast   isp.SYSTEM_ERROR busy
//	by number: InvalidParameterValue.IncorrectPhoneNumber   FailedOperation.ContainSensitiveWord   LimitExceeded.DeliveryFrequencyLimit   InternalError.OtherError
//
// feishu, 飞书应用消息: POST /feishu/open-apis/im/v1/messages, or by the hosts open.feishu.cn and open.larksuite.com, tells one person or chat, and is known by
// its uuid; POST /feishu/open-apis/message/v4/batch_send/ tells up to 200 people. Tokens are given by POST
// /feishu/open-apis/auth/v3/tenant_access_token/internal to any app id whose secret does not begin with "wrong", and taken back by DELETE /feishu/tokens.
//
//	230001 unknown_user   230028 refused_content   9499 malformed   99991400 too_fast, with x-ogw-ratelimit-reset   99991663 token   10014 secret
//
// fcm, FCM 推送: POST /fcm/v1/projects/posthouse-simulator/messages:send, or by the host fcm.googleapis.com, pushes to one device. Its service account
// is GET /fcm/service-account.json, with a key that each start makes anew; POST /fcm/token, or by the host oauth2.googleapis.com, gives tokens for its
// assertions, and DELETE /fcm/tokens takes them back. apns, 苹果推送: POST /apns/3/device/…, or by Apple's hosts, with a token signed by the key of
// GET /apns/AuthKey.p8 (SIMULATED1, of the team SIMULATED2), for any topic. huawei, 华为推送: POST /huawei/v3/100000001/messages:send, with the
// account of GET /huawei/service-account.json. Tokens older than an hour are refused. Tokens of devices act as users do.
//
//	UNREGISTERED, Unregistered, 80300007 unknown_user   INVALID_ARGUMENT, PayloadEmpty, 80100016 refused_content   QUOTA_EXCEEDED, TooManyRequests, 80300013 too_fast
//
// phones, 手机短信: POST /phones/{agent}/sms is the phone of a sender app, which tells it to send an SMS. It
// remembers no keys, as phones do not: what is sent twice arrives twice. GET on the same path answers what
// the phone sent last.
//
//	{"to": "13800138000", "text": "…", "key": "the delivery's idempotency key"}
//	202 {"id": "sm-…"}
//
//	as generic has them
//
// Presets are played at /presets/NAME/…, below which stand the paths of the provider's own URLs: all that ship, and those of
// Options.Presets. A preset's one account is that of its shapes. What a request says of a message is found in it, and the request made
// anew of that: it is taken where both are the same, and refused where a field, a secret or a signature is another. Answers are those of
// the shapes, with ids of our own. The provider is called preset-NAME.
//
// # Arrivals
//
// An [Arrival] is one message for one recipient that reached a provider, whether
// it was accepted, refused, or taken with its answer lost. A message that is
// taken for a key that was taken before is a duplicate, or a repeat where the
// provider remembers keys: then the recipient has it once. A request that cannot
// be read counts as a refused arrival without a user.
//
// The last arrivals are kept in memory within Options.Keep and Options.KeepBytes;
// all of them are counted, and written to Options.Journal, before their senders
// are answered. A request that has to wait is recorded after its wait. Numbers
// begin at 1 with each start; ids differ from one start to the next.
//
// # Faults
//
// [Behaviour] makes a provider fail: see [Kind] for the ways and [Fault] for when.
// The limit decides first, then magic recipients, then faults in their order. A limit that takes the place of another
// counts what that has let in, so that one that moves can be played.
// A limit of accounts counts the calls of each application of wecom, or of each robot of wecom_robot, in the place of the
// limits above, and punishes as [AccountLimit] says: WeCom refuses for a minute, and for an hour where it is met again.
// Delays add up. Business faults refuse the recipients they match; every other
// fault meets the whole request, and only the first one does. Times counts the
// requests a fault had an effect on.
//
// Magic recipients need no setting. A user with one of these names (case
// matters), or with the name, a hyphen and anything else, as in lost-answer-7:
//
//	fail-recipient   refused each time: unknown_user
//	refuse-content   refused each time: refused_content
//	busy-twice       busy, busy, then accepted
//	always-busy      busy each time
//	too-fast         too_fast with a wait of 1 s, then accepted
//	rate-limited     HTTP 429 with Retry-After: 1, then accepted
//	server-error     HTTP 503 each time
//	cut-before       connection cut, not taken; then accepted
//	lost-answer      taken and connection cut; then accepted
//	garbage          taken and answered with rubbish; then accepted
//	hang             taken and never answered; then accepted
//	slow             accepted after 2 s
//	redirect         HTTP 302 to /login each time
//
// On a phone the numbers 13900000001 to 13900000013 act as these names, in this order, also after +86.
//
// "Then" is counted for each user and message: by its key, or by title and text
// where it has none.
//
// # Control
//
//	GET    /                    a page with what arrived and the faults in force
//	GET    /phones              a page of the phones with the SMS they sent
//	GET    /phones/{agent}/sms  the same of one phone: totals and the last 50
//	GET    /messages            arrivals, newest last: ?provider= &user= &key= &since=SEQ &limit=100 (to 10,000)
//	DELETE /messages            forgets arrivals, totals and keys, and what DingTalk's rules remember
//	GET    /counts              keys that came at_least=2 times, or ?provider= and &key= for one
//	GET    /faults              what each provider has in force
//	GET    /faults/{provider}
//	PUT    /faults/{provider}   {"faults": [{"kind": "server_error", "probability": 0.1}], "limit": {"max": 20, "per": "1s", "lockout": "10s"}}
//	                            "accounts": [{"accounts": "10*", "windows": [{"max": 8, "per": "1s"}], "lockout": "1m", "relapse": "1h"}]
//	DELETE /faults/{provider}   everything is well again
//	GET    /stats               totals, by provider, and what is kept
//	GET    /healthz             503 once the journal cannot be written
//
// With since, a reader goes through all kept arrivals: ask again with the seq of
// the last one. Errors are problem+json and name each wrong field.
//
// # A provider more
//
// One file with its reading and its answer, one line in the table of provider.go. One that remembers
// something, or answers less than it accepts, has a value of type more besides.
package simulator
