// Package wecom is the driver for WeCom 企业微信, in two kinds:
//
//   - [App]: messages of an enterprise's application (应用消息) to members, departments and tags. One call takes up to 1000
//     members, and its answer names those who are not known.
//   - [Robot]: a group's robot (群机器人, now 消息推送) that posts to one group, and mentions the recipients there.
//
// The codes and limits are those of WeCom's documents as of 2025. Where the documents do not say it, the setting's help does.
// A channel overrides the class of any code.
//
// WeCom silently drops what a member gets beyond 30 messages a minute, or 1,000 an hour, of one application. Its answer does
// not say so, and no driver can see it.
package wecom
