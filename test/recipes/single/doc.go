// Package single tests each recipe by itself on a server, and what the pages of docs/recipes show of it.
//
// Connections are cut, answers are lost, sessions are ended and calls are given up; the sessions that a release wakes
// are counted, and what a recipe leaves behind is looked for. That recipes keep their word when many use them at once
// is for test/recipes.
package single
