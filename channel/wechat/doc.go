// Package wechat is the driver for WeChat Official Accounts 微信公众号 / 服务号, in two kinds:
//
//   - [Template]: template messages (模板消息) of a service account to its followers.
//   - [Subscribe]: subscription notices (订阅通知) to those who have asked for them.
//
// One call tells one follower. A recipient's address is the openid; nobody's id in another system is taken for one.
//
// The codes and limits are those of WeChat's documents as of 2025. A channel overrides the class of any code. WeChat accepts a
// template message first, and tells the account's own server later, by the event TEMPLATESENDJOBFINISH, whether it arrived;
// the driver reads that event where the channel has a callback_token. Of subscription notices it tells so by
// subscribe_msg_sent_event.
package wechat
