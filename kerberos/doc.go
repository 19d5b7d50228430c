// Package kerberos is both sides of the SASL mechanism GSSAPI, as ZooKeeper's clients and servers use it: Kerberos 5
// proves the identity of both, and nothing of the traffic behind it is signed or encrypted (use TLS for that). It
// also gets the tickets that the initiating side needs. Sources: RFC 4120 (Kerberos), RFC 4121 (its GSSAPI), RFC
// 4752 (SASL), client-protocol 14.3.
//
// A client of ZooKeeper or Warren authenticates with it as follows:
//
//	login, err := kerberos.NewLogin(kerberos.LoginOptions{Principal: "app@EXAMPLE.COM", Keytab: "/etc/app.keytab"})
//	...
//	c, err := client.New(servers, client.WithSASL(func(host string) client.Exchange {
//		return login.Initiate("zookeeper/" + host)
//	}))
//
// # The exchange
//
//	initiator: AP-REQ, with a ticket for the service and an authenticator that was made just now
//	acceptor:  AP-REP, which only the service can make, with a new key for what follows
//	initiator: empty
//	acceptor:  the offer of no security layer, signed
//	initiator: its consent, signed
//	acceptor:  null, which ends the exchange
//
// ASN.1, encryption and the exchanges with a KDC are those of github.com/jcmturner/gokrb5. The rules of RFC 4120
// section 3.2.3, by which an acceptor judges an AP-REQ, are in this package (acceptor.go): the library's own check
// compares no realm, and its cache of authenticators forgets them too early. Keys other than AES are refused.
//
// # Ownership
//
// A Login and an Acceptor may be used by many goroutines. An Initiator and an Acceptance are one exchange each, owned
// by one goroutine. A Login starts a goroutine for each ticket that it gets; it ends with the answer of the KDC, or
// when the KDC has not answered for some seconds. Between two tickets there is a timer, which does not keep the Login
// alive. Errors contain no token and no key.
package kerberos
