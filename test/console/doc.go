// Package console visits the console of a real server with a real browser, Chromium, which chromedp drives. It is a
// module of its own, which the workspace does not name, because no program and no other test needs chromedp. `make
// console-test` runs it. Each journey has a server and a tab of its own; the goroutines are those of chromedp.
// One test needs no browser: it links the binary with the console and without it, and bounds the difference.
package console
