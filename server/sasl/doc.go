// Package sasl authenticates clients and servers by a name and a password: the mechanism DIGEST-MD5 of RFC 2831
// as ZooKeeper uses it, the JAAS file that holds the names and passwords, and the packets in which two servers of
// an ensemble exchange the tokens. Source: client-protocol 14, quorum-protocol 13.1, operations 8.4 and 8.5.
//
// # DIGEST-MD5
//
// The server sends a challenge with a nonce, the client answers with a hash of its password, the nonce and one of
// its own, and the server proves with another hash that it knows the password, too. The tokens are:
//
//	client: empty
//	server: realm="zk-sasl-md5",nonce="<40 characters>",charset=utf-8,algorithm=md5-sess
//	client: charset=utf-8,username="u",realm="zk-sasl-md5",nonce="...",nc=00000001,cnonce="...",
//	        digest-uri="zookeeper/zk-sasl-md5",maxbuf=65536,response=<32 hex>,qop=auth
//	server: rspauth=<32 hex>
//
// The mechanism is old, and only as strong as the password: an eavesdropper can try passwords offline. Use it
// inside TLS. GSSAPI (Kerberos) is not supported: a section of the JAAS file that asks for it is refused.
//
// # Ownership
//
// A Users is immutable. A DigestServer and a DigestClient are one exchange, owned by one goroutine. Errors never
// contain a token, a password or a value from the file.
package sasl
