// Package e2e drives the console in a real browser: each page in both languages, a whole story, the keyboard, a narrow
// window, and a browser without JavaScript. It also takes the pictures of the documentation.
//
// It is not part of the program, and a module of its own: the browser's client is to stay out of our go.mod. What a page
// says in detail is tested beside the console, without a browser.
package e2e
