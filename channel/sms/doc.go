// Package sms is the driver for text messages by Aliyun 阿里云 (dysmsapi 2017-05-25) and Tencent Cloud 腾讯云 (sms 2021-01-11), and for
// Aliyun's calls that read a text aloud (dyvmsapi 2017-05-25). Both providers send templates that they have approved, filled with
// parameters, under a sign (签名) that they have approved too.
//
// Neither provider recognises a repeated call, and each message costs money: a call whose answer is missing is unknown. Codes, limits and
// receipts are those of the providers' documents as of 2026; the channel overrides the class of any code.
//
// It does not write templates, and it does not know what is approved: the providers say so by their codes.
package sms
