// Package findings is what a server is found to lack, from its own numbers and its own view of its ensemble, and what
// helps. warren doctor asks servers for these numbers, and the console of a server has them: both say the same,
// because the words are here only. Pure.
package findings
