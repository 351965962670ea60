// Package sdks has the providers' own programs drive the simulator, so that what judges our drivers and presets is judged by strangers, and
// compares what they send with what ours do. make sdks installs them by npm and runs it; it needs Node.js.
package sdks
