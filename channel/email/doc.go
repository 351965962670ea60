// Package email is the driver for mail by SMTP: each delivery is one message to one mailbox, handed to the server of the channel.
//
// The server's answers are read by the stage at which they come, by the code and by the enhanced status code of RFC 3463. What the server
// has said before the end of the message proves that it has not taken it. Only an answer to that end that never comes is unknown; the
// next attempt has the same Message-ID.
package email
