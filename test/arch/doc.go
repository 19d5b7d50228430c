// Package arch holds the house rules as tests: which package may import which and why, that every package says what
// it is, that pure packages stay pure, and that generated files are up to date. It has no code of its own outside the
// tests.
//
// The rules are those of docs/DESIGN.md. A test that fails names file, line and reason; if the reason no longer
// holds, change the rule here and the page there in one commit.
package arch
