// Package words answers the four-letter words of the client port, in ZooKeeper's text. What it says is known by
// packages facts and ensemble; the words that name clients ask package serve for their connections.
//
// Words has no state and no goroutine. A word is answered in the reader goroutine of its connection, also while the
// server does not serve, when most words say so.
//
// # Files
//
//	words    the table of the words, the whitelist, and what a session is called
//	server   ruok, isro, mntr, conf, envi, dirs, hash, srst, gtmk, stmk
//	clients  srvr, stat, cons, crst
//	watches  wchs, wchc, wchp
//	dump     dump
package words
