// Package coordination says what the znodes of coordination recipes mean: which session holds a lock, which sessions
// wait and in which order, which items are in a queue, which instances a service has. Package proto/layouts has the
// names.
//
// Programs are free to name znodes as they like, so what is said is an opinion. A Recipe is Sure if the layout has
// names that nothing else has. All functions are pure; names and data are those that any client has written.
package coordination
