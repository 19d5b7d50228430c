// Package findings judges an ensemble: what is wrong with it, how urgent that is, and what helps. Every server, warren
// doctor and warren status collect the facts of all servers as records of type Server, and Ensemble makes the same
// findings of them everywhere, in the same words. Pure.
//
// # Files
//
//	server    Server: what is known of one server, and since when nothing is known
//	judge     Ensemble: from the facts of all servers to findings
//	ensemble  the words of findings about servers and their places in the ensemble
//	numbers   the findings of one server from its own numbers
//	kinds     the table of all kinds of findings: severities, and the alert rules of Prometheus
package findings
