// Package sasl has what servers need to authenticate clients and each other by a name and a password: the JAAS file
// that holds the names and passwords, and the packets in which two servers of an ensemble exchange the tokens of
// DIGEST-MD5. Source: client-protocol 14, quorum-protocol 13.1, operations 8.4 and 8.5.
//
// Package proto/digestmd5 has the exchange itself. GSSAPI (Kerberos) is not supported: a section of the JAAS file
// that asks for it is refused.
//
// # Ownership
//
// A Users is immutable. Errors never contain a token, a password or a value from the file.
package sasl
