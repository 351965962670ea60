// Package apns pushes notifications to Apple's devices by token-based requests over HTTP/2. What the reasons mean is Apple's own table:
// developer.apple.com, "Handling notification responses from APNs".
package apns
