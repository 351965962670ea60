// Package dingtalk is the driver for DingTalk 钉钉, in three kinds that have little but the name in common:
//
//   - [Gateway]: an enterprise's own gateway in front of DingTalk, which fills templates of its own. One
//     call for all recipients of a message, one id for all of them.
//   - [Robot]: a custom robot (自定义机器人) that posts to one group, and mentions the recipients there.
//   - [Work]: a work notification (工作通知) of an enterprise's application. DingTalk accepts it first and
//     says later, when it is asked, whom it did not reach. Contents of type template go out as interactive
//     cards (互动卡片), whose buttons are told back.
//
// Each kind is one file with its fields, its table of codes and its call. The codes and limits are those
// of DingTalk's documents as of August 2026; a channel overrides the class of any code.
//
// It does not look people up: a recipient's address is the user id (the gateway: the user name) as
// DingTalk knows it, and who has none is not guessed.
package dingtalk
