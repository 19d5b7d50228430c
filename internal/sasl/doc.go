// Package sasl has what servers need to authenticate clients and each other: the JAAS file, whose sections say
// whether by a name and a password or by Kerberos, the names of Kerberos principals, and the packets in which two
// servers of an ensemble exchange the tokens. Source: client-protocol 14, quorum-protocol 13.1, operations 8.4 and
// 8.5.
//
// The exchanges themselves are in proto/digestmd5 (DIGEST-MD5) and kerberos (GSSAPI).
//
// # Ownership
//
// Users, Names and an Acceptor are immutable. An Exchange is owned by one goroutine. Errors never contain a token, a
// password, a key or a value from the file.
package sasl
