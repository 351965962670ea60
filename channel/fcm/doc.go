// Package fcm pushes notifications to apps by Firebase Cloud Messaging, HTTP v1. What the codes mean is Google's own table:
// firebase.google.com/docs/cloud-messaging/error-codes; the access token is that of a service account by RFC 7523.
package fcm
