// Package ensemble is what a server knows of its ensemble: what the other servers have told last, what their clients
// do, and what is wrong. It asks them by four-letter words at their client ports, and answers when they ask. What is
// wrong is judged by package findings, which is the same for warren doctor and warren status; since when is known
// here.
//
// Facts adds this to the facts of the server itself (package facts). It hides nothing: what of it a visitor may know
// is in package visible.
//
// # State, goroutines and locks
//
// One goroutine, Keep, asks the other servers every two seconds, reads the server's own configuration and backups
// again, and tells the log what is wrong. What it has heard, since when there is each finding, and the key of this
// process are in keeper, behind its lock, which nobody holds while a server is asked. Answers about clients are kept
// for two seconds (seals and answers), each behind a lock that is held until the answer is there, so that those who
// ask together make one question of it.
//
// The tickets for tasks of other servers (tasks) are behind a lock that is held for a moment.
//
// Any goroutine may ask. Questions about clients go to the other servers in the goroutine of the caller, which waits
// for them for a second at most.
//
// # Files
//
//	facts     Facts
//	keeper    what is known of the others, the findings, and Keep
//	asking    how other servers are asked for their records
//	own       what this server tells of itself to the others
//	troubles  what it finds of itself: certificates, configuration, backups, memory
//	held, watchers  what servers tell each other about their clients, sealed
//	task      what visitors of one server want of another, sealed
//	servers, ensemble  the servers and the ensemble, as the API tells them
package ensemble
